// What the program puts into the page: report.json with a few things that it alone can say (lact/reproduce/report_page.cpp).
// Every list may be missing or empty: a section whose steps failed has a note and nothing else.

export type Verdict = "holds" | "does not hold" | "inconclusive";

/** null where there is no value. */
export type Values = (number | null)[];

export interface Line {
  name: string;
  x: Values;
  y: Values;
  low?: Values;
  high?: Values;
  dashed?: boolean;
}

export interface Chart {
  title: string;
  x_label: string;
  y_label: string;
  log_x?: boolean;
  lines?: Line[];
}

export interface Table {
  title: string;
  header: string[];
  rows: string[][];
  /** Which columns hold quantities, aligned to the right. */
  quantities?: boolean[];
}

export interface Picture {
  /** "data:image/png;base64,..." */
  address: string;
  caption: string;
}

export interface Finding {
  statement: string;
  rule: string;
  because: string;
  verdict: Verdict;
}

export interface Section {
  id: string;
  title: string;
  claim?: string;
  verdict: Verdict;
  paper?: string[];
  findings?: Finding[];
  charts?: Chart[];
  tables?: Table[];
  pictures?: Picture[];
  notes?: string[];
  commands?: string[];
  /** "3 min 20 s"; empty where nothing ran. */
  time?: string;
}

export interface Report {
  title: string;
  /** budget, seeds, machine, version and date on one line */
  circumstances: string;
  /** "3 of 5 hold, ..." */
  tally: string;
  sections?: Section[];
}

export function embeddedReport(): Report {
  return JSON.parse(document.getElementById("report")!.textContent!) as Report;
}
