// SPDX-License-Identifier: Apache-2.0
//
// void juno_sme2_call_streaming(void (*body)(const void *), const void *argument)
//
//   x19 = body, x20 = argument, x21 = FPSR      frame: x29 x30 | x19 x20 | x21 - | d8 .. d15
//
// SMSTART and SMSTOP zero all vector and predicate registers and set FPSR's cumulative flags, so the callee-saved d8-d15
// and FPSR are kept here. If TPIDR2_EL0 points at a block, a caller further up has live ZA contents that it asked to be
// saved before anyone else uses ZA (AAPCS64, "lazy saving"): they are stored to its buffer and TPIDR2_EL0 is cleared,
// which tells it to load them back.

#if defined(__APPLE__)
#define FUNCTION(name) _##name
        .section __TEXT,__text,regular,pure_instructions
#else
#define FUNCTION(name) name
        .text
#endif
        .arch armv8.7-a+sme2

#define TPIDR2_EL0 S3_3_C13_C0_5
#define SVCR_REGISTER S3_3_C4_C2_2
#define SVCR_ZA_BIT 1

        .globl  FUNCTION(juno_sme2_call_streaming)
#if defined(__APPLE__)
        .private_extern FUNCTION(juno_sme2_call_streaming)
#else
        .hidden juno_sme2_call_streaming
        .type   juno_sme2_call_streaming, %function
#endif
        .p2align 4
FUNCTION(juno_sme2_call_streaming):
        .cfi_startproc
        stp     x29, x30, [sp, #-112]!
        .cfi_def_cfa_offset 112
        .cfi_offset x29, -112
        .cfi_offset x30, -104
        mov     x29, sp
        .cfi_def_cfa x29, 112
        stp     x19, x20, [sp, #16]
        .cfi_offset x19, -96
        .cfi_offset x20, -88
        str     x21, [sp, #32]
        .cfi_offset x21, -80
        stp     d8, d9, [sp, #48]
        stp     d10, d11, [sp, #64]
        stp     d12, d13, [sp, #80]
        stp     d14, d15, [sp, #96]
        mov     x19, x0
        mov     x20, x1
        mrs     x21, fpsr

        mrs     x9, TPIDR2_EL0
        cbz     x9, 3f
        mrs     x10, SVCR_REGISTER
        tbz     x10, #SVCR_ZA_BIT, 2f
        ldr     x11, [x9]               // za_save_buffer
        ldrh    w13, [x9, #8]           // num_za_save_slices
        rdsvl   x14, #1
        mov     w12, #0
1:      cmp     w12, w13
        b.hs    2f
        str     za[w12, 0], [x11]
        add     x11, x11, x14
        add     w12, w12, #1
        b       1b
2:      msr     TPIDR2_EL0, xzr

3:      smstart
        mov     x0, x20
        blr     x19
        smstop

        msr     fpsr, x21
        ldp     d14, d15, [sp, #96]
        ldp     d12, d13, [sp, #80]
        ldp     d10, d11, [sp, #64]
        ldp     d8, d9, [sp, #48]
        ldr     x21, [sp, #32]
        ldp     x19, x20, [sp, #16]
        ldp     x29, x30, [sp], #112
        .cfi_def_cfa sp, 0
        .cfi_restore x29
        .cfi_restore x30
        .cfi_restore x19
        .cfi_restore x20
        .cfi_restore x21
        ret
        .cfi_endproc
#if !defined(__APPLE__)
        .size   juno_sme2_call_streaming, .-juno_sme2_call_streaming
        .section .note.GNU-stack, "", %progbits
#endif
