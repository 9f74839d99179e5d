/** A number with its noun: `1 file`, `2,000 files`. */
export function count(number: number, noun: string): string {
  return `${thousands(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** 1234567 as "1,234,567". `toLocaleString` would load 8 MB of tables on first use in a process. */
export const thousands = (number: number): string => String(number).replace(/\B(?=(?:\d{3})+$)/g, ",");
