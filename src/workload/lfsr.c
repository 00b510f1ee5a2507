/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The register shifts right.  The bit that enters at the top is the parity of the tapped bits:
 *
 *     parity(v & taps) -> | bit n-1 | ... | bit 1 | bit 0 | -> dropped
 *
 * The taps are those of flashbench, one primitive polynomial for each width.  So the addresses
 * come in the same order as in published measurements, and a device sees the same requests.
 * The register never reaches 0.  flashbench inserts 0 behind one fixed state, and so does
 * fe_lfsr_next.
 */
#include "workload/lfsr.h"

const uint16_t fe_lfsr_taps[FE_LFSR_MAX_BITS + 1] = {
    [8] = 0x001d,  /* x^8 + x^6 + x^5 + x^4 + 1 */
    [9] = 0x0011,  /* x^9 + x^5 + 1 */
    [10] = 0x0009, /* x^10 + x^7 + 1 */
    [11] = 0x0005, /* x^11 + x^9 + 1 */
    [12] = 0x0107,
    [13] = 0x0027, /* x^13 + x^12 + x^11 + x^8 + 1 */
    [14] = 0x1007, /* x^14 + x^13 + x^12 + x^2 + 1 */
    [15] = 0x0003, /* x^15 + x^14 + 1 */
    [16] = 0x002d, /* x^16 + x^14 + x^13 + x^11 + 1 */
};

unsigned fe_lfsr_bits(uint64_t n)
{
    unsigned bits = 0;

    for (; n > 0; n /= 2)
        bits++;
    return bits < FE_LFSR_MIN_BITS ? FE_LFSR_MIN_BITS : bits;
}
