/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The texts of report.css and report.js.
 */
#pragma once

extern const char report_css[], report_js[];
