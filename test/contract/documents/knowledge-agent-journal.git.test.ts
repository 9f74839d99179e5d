import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createJournal, openLogseqVault } from "../../../src/agent/record/journal.ts";
import type { NoteEntry } from "../../../src/agent/record/trajectory.ts";
import { DEFAULT_PAGE, logWorkProduct, MAX_NOTE } from "../../../src/agent/tools/log-work-product.ts";
import { runTool } from "../../../src/agent/tools/run-tool.ts";
import type { ToolContext } from "../../../src/agent/tools/tool.ts";
import { TempFolder } from "../../support/git-repo.ts";

/** The requirements of the knowledge agent's document (001) for its audit trail. */
async function log(sent: Record<string, unknown>, hasJournal = true) {
  using vault = new TempFolder("document-vault");
  const notes: NoteEntry[] = [];
  const journal = createJournal({
    ...{ about: "octo/shop#12", earlier: [], vault: openLogseqVault(vault.path), warn: () => {} },
    record: async (note) => void notes.push(note),
  });
  const context = { ...(hasJournal && { journal }) } as ToolContext;
  const { result } = await runTool(logWorkProduct, JSON.stringify(sent), context, {
    signal: new AbortController().signal,
    onCrash: (_, error) => {
      throw error;
    },
  });
  return { result, notes };
}

describe("the knowledge agent's log_work_product", () => {
  it("log_work_product takes content", async () => {
    const { result, notes } = await log({ content: "Moved to a unit of work." });
    expect(result).toMatchObject({
      status: "success",
      output: { status: expect.stringContaining("record") },
    });
    expect(notes).toMatchObject([{ content: "Moved to a unit of work." }]);
    for (const content of [undefined, "", "x".repeat(MAX_NOTE + 1)])
      expect((await log({ content })).result).toMatchObject({
        status: "error",
        error: expect.stringContaining("content"),
      });
  });

  it("log_work_product takes page_name", async () => {
    using folder = new TempFolder("pages");
    const vault = openLogseqVault(folder.path);
    const read = (name: string) => readFileSync(join(folder.path, "pages", `${name}.md`), "utf8");
    const journal = createJournal({
      ...{ about: "a#1", earlier: [], vault, warn: () => {}, record: async () => {} },
    });
    const context = { journal } as ToolContext;
    const { signal } = new AbortController();
    await logWorkProduct.execute({ content: "first", page_name: "Development-Log" }, context, signal);
    await logWorkProduct.execute({ content: "second", page_name: "Development-Log" }, context, signal);
    expect(read("Development-Log").match(/^- /gm)).toHaveLength(2);
    expect((await log({ content: "x", page_name: "" })).result.status).toBe("error");
  });

  it("log_work_product writes the audit's own page without page_name", async () => {
    const { notes } = await log({ content: "x" });
    expect(notes).toMatchObject([{ page: DEFAULT_PAGE }]);
    expect(DEFAULT_PAGE).toBe("hunkwise-audit");
  });

  it("log_work_product answers with an error if nothing is recorded", async () => {
    const { result } = await log({ content: "x" }, false);
    expect(result).toMatchObject({ status: "error", error: expect.stringContaining("keeps no record") });
  });
});
