import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DocumentTools, openDocumentTools } from "./document-tools.ts";

let tools: DocumentTools;
beforeAll(async () => {
  tools = await openDocumentTools();
});
afterAll(() => tools?.[Symbol.asyncDispose]());

describe("the document of the knowledge agent", () => {
  it("list_files takes directory", async () => {
    const list = (sent: Record<string, unknown>) =>
      tools.reading().output("list_files", { type: "any", depth: 1, ...sent });
    expect(await list({ directory: "src" })).toEqual(["src/app.py", "src/core"]);
    expect(await list({})).toEqual([".config", "README.md", "copy.md", "docs", "long.txt", "src"]);
    const absolute = `${tools.reading().workspace.root}/src`;
    expect(await list({ directory: absolute })).toEqual(["src/app.py", "src/core"]);
    expect(await tools.reading().error("list_files", { directory: "nowhere" })).toMatch(
      /no such file 'nowhere'/,
    );
  });
});
