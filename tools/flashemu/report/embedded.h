/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The texts of report.css and report.js.
 */
#ifndef REPORT_EMBEDDED_H
#define REPORT_EMBEDDED_H

extern const char report_css[], report_js[];

#endif
