// SPDX-License-Identifier: Apache-2.0
//
// void juno_test_call_with_canaries(void (*function)(void *), void *argument, uint64_t canaries[12])
//
// Calls function(argument) with canaries[0..7] in d8-d15 and canaries[8] in FPSR, then stores what it finds there
// afterwards, and SVCR to canaries[9] if canaries[10] is not 0. For a non-zero canaries[11] (the address of a TPIDR2 block)
// ZA is switched on before the call, all its bytes set to 0x5a and TPIDR2_EL0 set to the block; canaries[11] receives
// TPIDR2_EL0 afterwards.
        .arch armv8.7-a+sme2
        .text
        .globl  juno_test_call_with_canaries
        .type   juno_test_call_with_canaries, %function
juno_test_call_with_canaries:
        stp     x29, x30, [sp, #-112]!
        mov     x29, sp
        stp     x19, x20, [sp, #16]
        stp     d8, d9, [sp, #48]
        stp     d10, d11, [sp, #64]
        stp     d12, d13, [sp, #80]
        stp     d14, d15, [sp, #96]
        mov     x19, x2
        mov     x20, x0
        ldr     x9, [x19, #88]
        cbz     x9, 2f
        // Fill ZA: every row from one streaming vector of 0x5a.
        stp     x1, x9, [sp, #32]
        smstart
        mov     z0.b, #0x5a
        ptrue   p0.b
        rdsvl   x10, #1
        mov     w12, #0
1:      mova    za0h.b[w12, 0], p0/m, z0.b
        add     w12, w12, #1
        cmp     w12, w10
        b.lo    1b
        smstop  sm
        ldp     x1, x9, [sp, #32]
        msr     S3_3_C13_C0_5, x9
2:      ldp     d8, d9, [x19, #0]
        ldp     d10, d11, [x19, #16]
        ldp     d12, d13, [x19, #32]
        ldp     d14, d15, [x19, #48]
        ldr     x9, [x19, #64]
        msr     fpsr, x9
        mov     x0, x1
        blr     x20
        mrs     x9, fpsr
        str     x9, [x19, #64]
        stp     d8, d9, [x19, #0]
        stp     d10, d11, [x19, #16]
        stp     d12, d13, [x19, #32]
        stp     d14, d15, [x19, #48]
        ldr     x9, [x19, #80]
        cbz     x9, 3f
        mrs     x9, S3_3_C4_C2_2
        str     x9, [x19, #72]
        ldr     x9, [x19, #88]
        cbz     x9, 3f
        mrs     x9, S3_3_C13_C0_5
        str     x9, [x19, #88]
        msr     S3_3_C13_C0_5, xzr
        smstop  za
3:      ldp     d14, d15, [sp, #96]
        ldp     d12, d13, [sp, #80]
        ldp     d10, d11, [sp, #64]
        ldp     d8, d9, [sp, #48]
        ldp     x19, x20, [sp, #16]
        ldp     x29, x30, [sp], #112
        ret
        .size   juno_test_call_with_canaries, .-juno_test_call_with_canaries
        .section .note.GNU-stack, "", %progbits
