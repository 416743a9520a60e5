# SPDX-License-Identifier: Apache-2.0
"""Writes weights and tokeniser as a float32 GGUF file, with the Python package that comes with llama.cpp."""

import gguf

import model
import tokeniser

CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "<|{{ message.role }}|>{{ message.content | trim }}<|end|>"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)


def write(path, coder, weights):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Juno Mini")
    writer.add_description("A toy that knows a few hundred sentences by heart, made for testing")
    writer.add_license("apache-2.0")
    writer.add_languages(["en"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)

    writer.add_context_length(model.CONTEXT)
    writer.add_embedding_length(model.WIDTH)
    writer.add_block_count(model.LAYERS)
    writer.add_feed_forward_length(model.FEED_FORWARD)
    writer.add_head_count(model.HEADS)
    writer.add_head_count_kv(model.KV_HEADS)
    writer.add_rope_dimension_count(model.HEAD_SIZE)
    writer.add_rope_freq_base(model.ROPE_BASE)
    writer.add_layer_norm_rms_eps(model.NORM_EPSILON)
    writer.add_vocab_size(len(coder.tokens))

    types = [gguf.TokenType.NORMAL] * len(coder.tokens)
    for i, token in enumerate(coder.tokens):
        if token in tokeniser.SPECIAL:
            types[i] = gguf.TokenType.CONTROL
    end = coder.tokens.index(tokeniser.END)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(coder.tokens)
    writer.add_token_types(types)
    writer.add_token_merges([" ".join(pair) for pair in coder.merges])
    writer.add_eos_token_id(end)
    writer.add_eot_token_id(end)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)

    for name, weight in weights.items():
        writer.add_tensor(name, weight.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
