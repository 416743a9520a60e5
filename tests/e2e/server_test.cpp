// SPDX-License-Identifier: Apache-2.0
//
// llama-server with Juno linked in: starts, answers, stops, and leaves its receipts; as a router, for several models.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "programs.h"

namespace juno::e2e {
namespace {

using Clock = std::chrono::steady_clock;

struct Reply {
  int status = 0;  ///< 0: no answer
  std::string body;
};

/// A body that came in chunks, as a router passes answers on.
std::string join_chunks(const std::string& chunks) {
  std::string body;
  for (std::size_t at = 0; at < chunks.size();) {
    const std::size_t line = chunks.find("\r\n", at);
    const std::size_t size = line != std::string::npos ? std::stoul(chunks.substr(at, line - at), nullptr, 16) : 0;
    if (size == 0) break;
    body += chunks.substr(line + 2, size);
    at = line + 2 + size + 2;
  }
  return body;
}

/// One HTTP request to this machine.
Reply request(int port, const std::string& method, const std::string& path, const std::string& body) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connection < 0) return {};
  const timeval limit{60, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::string text = method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" +
                             "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                             "\r\n\r\n" + body;
    if (send(connection, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size())) {
      char buffer[4096];
      for (ssize_t count = 0; (count = recv(connection, buffer, sizeof buffer, 0)) > 0;) {
        answer.append(buffer, static_cast<std::size_t>(count));
      }
    }
  }
  close(connection);
  const std::size_t head = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.1 ") || head == std::string::npos) return {};
  const bool chunked = answer.find("Transfer-Encoding: chunked") < head;
  const std::string rest = answer.substr(head + 4);
  return {std::stoi(answer.substr(9, 3)), chunked ? join_chunks(rest) : rest};
}

/// The port that the server chose, once it listens; 0 if it never does.
int port_of(Process& server) {
  const std::string before = "listening on http://127.0.0.1:";
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  while (Clock::now() < deadline) {
    const bool open = server.pump(std::chrono::milliseconds(50));
    const std::string all = server.so_far().err + server.so_far().out;
    const std::size_t at = all.find(before);
    if (at != std::string::npos && all.find('\n', at) != std::string::npos)
      return std::stoi(all.substr(at + before.size()));
    if (!open) break;
  }
  return 0;
}

bool becomes_healthy(Process& server, int port) {
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  while (Clock::now() < deadline) {
    if (request(port, "GET", "/health", "").status == 200) return true;
    if (!server.pump(std::chrono::milliseconds(100))) return false;
  }
  return false;
}

const Json& question() {
  static const Json kQuestion = {
      {"prompt", "Once upon a time"}, {"n_predict", 5}, {"temperature", 0}, {"return_tokens", true}};
  return kQuestion;
}

/// Asks for one completion and stops the server.
void serve(const Environment& environment, const Arguments& more, const std::filesystem::path& folder, Json& completion,
           Json& receipts) {
  Environment all = environment;
  all["JUNO_RECEIPTS"] = (folder / "receipts-%p.json").string();
  // QEMU 11.1 itself crashes when a signal reaches a program on a processor that has SME but no SVE.
  if (has_runner()) all["JUNO_CPU"] = "max,sme512=on,sme_fa64=off";
  Arguments arguments = {
      "-m", file_of(plain_model()), "--host", "127.0.0.1", "--port", "0", "-t", "2", "-c", "256", "-np",
      "1",  "--no-warmup"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Process server(command("llama-server", arguments, all));
  const int port = port_of(server);
  ASSERT_NE(port, 0) << server.wait().text();
  ASSERT_TRUE(becomes_healthy(server, port)) << server.so_far().text();
  const Reply reply = request(port, "POST", "/completion", question().dump());
  ASSERT_EQ(reply.status, 200) << reply.body << server.so_far().text();
  completion = Json::parse(reply.body, nullptr, false);
  // llama-server's signal handler takes the lock of its queue; in the thread that has it at that moment it would wait
  // for ever (tools/server/server-queue.cpp of v0.4.0). Idle, that thread does not have it.
  (void)server.pump(std::chrono::milliseconds(500));
  server.send(SIGTERM);
  const Outcome outcome = server.wait();
  EXPECT_TRUE(succeeds(outcome));
  const std::vector<std::string> expected = {"receipts-" + std::to_string(outcome.pid) + ".json"};
  ASSERT_EQ(names_in(folder), expected) << outcome.text();
  receipts = parse_file(folder / expected[0]);
}

TEST(Server, AnswersWithJunoAndWritesReceiptsWhenStopped) {
  Json completion;
  Json receipts;
  serve(compiling(), {}, new_folder(), completion, receipts);
  ASSERT_TRUE(receipts.is_object());
  expect_compiled(receipts, plain_model().compiled);

  Json native_completion;
  Json native_receipts;
  serve(compiling({{"JUNO_ENGINE", "native"}}), {}, new_folder(), native_completion, native_receipts);
  ASSERT_TRUE(native_receipts.is_object());
  expect_engine_off(native_receipts);

  EXPECT_EQ(completion.at("tokens").size(), 5u);
  // Elsewhere sums are in another order, and the tokens could differ where two are nearly equal.
  if (expects_sme2()) {
    EXPECT_EQ(completion.at("tokens"), native_completion.at("tokens"));
    EXPECT_EQ(completion.at("content"), native_completion.at("content"));
  }
}

/// Speculative decoding, with the target as its own draft: what one proposes the other takes.
TEST(Server, DraftsWithASecondModelInTheSameProcess) {
  Json completion;
  Json receipts;
  serve(compiling(), {"-md", file_of(plain_model()), "--spec-type", "draft-simple"}, new_folder(), completion,
        receipts);
  ASSERT_TRUE(receipts.is_object());
  expect_compiled(receipts, 2 * plain_model().compiled);
  EXPECT_EQ(completion.at("tokens").size(), 5u);
  const Json& timings = completion.at("timings");
  EXPECT_GT(timings.value("draft_n", 0), 0) << completion;
  EXPECT_EQ(timings.value("draft_n_accepted", -1), timings.value("draft_n", 0)) << completion;

  Json without;
  serve(compiling(), {}, new_folder(), without, receipts);
  EXPECT_EQ(completion.at("tokens"), without.at("tokens"));
}

/// Takes in what the server says until `folder` holds `count` files.
bool waits_for_files(Process& server, const std::filesystem::path& folder, std::size_t count) {
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  while (names_in(folder).size() < count) {
    if (Clock::now() > deadline || !server.pump(std::chrono::milliseconds(50))) return false;
  }
  return true;
}

/// The router starts a process for each model, which ends when the model is unloaded: its receipts are there then, and
/// nothing of it is left. Under a runner it cannot start any, since the file that it would start is for another
/// machine.
TEST(Router, ServesTwoModelsAndUnloadsOne) {
  const Model& other = models()[2];
  ASSERT_EQ(other.compiled, plain_model().compiled);
  const std::filesystem::path folder = new_folder();
  const std::filesystem::path model_folder = new_folder();
  std::filesystem::create_symlink(file_of(plain_model()), model_folder / "first.gguf");
  std::filesystem::create_symlink(file_of(other), model_folder / "second.gguf");
  Process server(command("llama-server",
                         {"--models-dir", model_folder.string(), "--host", "127.0.0.1", "--port", "0", "-t", "1", "-c",
                          "256", "-np", "1", "--no-warmup", "--offline"},
                         compiling({{"JUNO_RECEIPTS", (folder / "%p.json").string()},
                                    {"LLAMA_CACHE", new_folder().string()}})));  // no models of the user's
  const int port = port_of(server);
  ASSERT_NE(port, 0) << server.wait().text();
  ASSERT_TRUE(becomes_healthy(server, port)) << server.so_far().text();
  const auto ask = [&](const std::string& model) {
    Json body = question();
    body["model"] = model;
    body["grammar"] = "root ::= [a-z ]*";  // random weights may say what is no UTF-8, which the server does not pass on
    const Reply reply = request(port, "POST", "/completion", body.dump());
    EXPECT_EQ(reply.status, 200) << reply.body << server.so_far().text();
    return Json::parse(reply.body, nullptr, false).value("tokens", Json());
  };
  const Json first = ask("first");
  const Json second = ask("second");
  EXPECT_EQ(first.size(), 5u);
  EXPECT_EQ(second.size(), 5u);
  EXPECT_NE(first, second);
  EXPECT_EQ(names_in(folder), Arguments{});

  EXPECT_EQ(request(port, "POST", "/models/unload", R"({"model": "first"})").status, 200);
  ASSERT_TRUE(waits_for_files(server, folder, 1)) << server.so_far().text();
  expect_compiled(parse_file(folder / names_in(folder).at(0)), plain_model().compiled);
  EXPECT_EQ(ask("second"), second);
  EXPECT_EQ(ask("first"), first);

  server.send(SIGTERM);
  const Outcome outcome = server.wait();
  EXPECT_TRUE(succeeds(outcome));
  // The first model's two processes, the second's one, and the router, which loads nothing itself.
  EXPECT_EQ(names_in(folder).size(), 4u) << outcome.text();
  for (const std::string& name : names_in(folder)) {
    const Json receipts = parse_file(folder / name);
    if (name == std::to_string(outcome.pid) + ".json") {
      EXPECT_TRUE(receipts.at("tensors").empty());
    } else {
      expect_compiled(receipts, plain_model().compiled);
    }
  }
}

}  // namespace
}  // namespace juno::e2e
