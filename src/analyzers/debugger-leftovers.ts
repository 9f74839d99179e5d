import type { Analyzer } from "./analyzer.ts";
import { javaScriptExtensions, type LinePattern, matchLines } from "./line-pattern.ts";

const stops = {
  severity: "high",
  category: "correctness",
  title: "A debugger statement is left in",
} as const;

/**
 * Statements that stop a program for a person at a keyboard. Printing is not among them: a line that logs is more often
 * meant than forgotten, and only the author knows.
 */
const leftovers: readonly LinePattern[] = [
  {
    ...stops,
    id: "javascript",
    extensions: javaScriptExtensions,
    pattern: /^\s*debugger\s*(?:;\s*)?(?:\/\/.*)?$/,
    body: "With developer tools open, or under `node inspect`, execution stops here for everybody. Remove the statement.",
  },
  {
    ...stops,
    id: "python",
    extensions: ["py"],
    pattern:
      /^\s*(?:import i?pdb\s*;\s*)?(?:breakpoint\(\)|(?:i?pdb|pudb)\.set_trace\(\))\s*(?:;\s*)?(?:#.*)?$/,
    body: "Execution stops here and waits at a prompt. Without a terminal, in a server or in CI, the process hangs or dies with `bdb.BdbQuit`. Remove the statement.",
  },
  {
    ...stops,
    id: "ruby",
    extensions: ["rb", "rake", "erb"],
    pattern: /^\s*(?:<%-?\s*)?(?:binding\.(?:pry|irb|break|b)|byebug|debugger)\s*(?:-?%>\s*)?(?:#.*)?$/,
    body: "Execution stops here and waits at a prompt; in a server or in CI the process hangs. Remove the statement.",
  },
  {
    ...stops,
    id: "php",
    extensions: ["php"],
    pattern: /^\s*(?:dd\(.*\)|xdebug_break\(\))\s*;\s*(?:\/\/.*)?$/s,
    body: "`dd` prints its arguments and ends the request; `xdebug_break` stops in the debugger. Remove the statement.",
  },
  {
    ...stops,
    id: "go",
    extensions: ["go"],
    pattern: /^\s*runtime\.Breakpoint\(\)\s*(?:\/\/.*)?$/,
    body: "Without a debugger attached, the breakpoint trap ends the program. Remove the call.",
  },
  {
    ...stops,
    id: "elixir",
    extensions: ["ex", "exs"],
    pattern: /^\s*(?:require IEx;\s*)?IEx\.pry(?:\(\))?\s*(?:#.*)?$/,
    body: "The process stops here and waits at a prompt. Remove the statement.",
  },
];

/** Finds breakpoints that were forgotten in the code. */
export function createDebuggerLeftoversAnalyzer(): Analyzer {
  return {
    name: "debugger-leftovers",
    analyze: (file) => matchLines("debugger-leftovers", file, leftovers),
  };
}
