import type { ScriptedTurn } from "../../../support/scripted.ts";

export const call = (name: string, args: Record<string, unknown>): ScriptedTurn => ({
  toolCalls: [{ name, arguments: args }],
});
export const edit = (path = "src/cart.js", from = "rate = 2", to = "rate = 1.5") =>
  call("edit_file", { path, old_string: from, new_string: to });
export const write = (path: string, content: string) => call("write_file", { path, content });
export const finish = (summary: string, ...repaired: boolean[]) =>
  call("finish_fix", {
    summary,
    findings: (repaired.length > 0 ? repaired : [true]).map((one, at) => ({
      ...{ finding: `F${at + 1}`, repaired: one },
      note: one ? "The rate is right now." : "Nobody knows the rate.",
    })),
  });
/** What the review of the commit that was pushed takes. */
export const reviewed = call("finish_review", { summary: "Charges the rate." });
export const look = (state: string) =>
  call("report_resolution", { state, reason: "src/cart.js:1 says 1.5." });
