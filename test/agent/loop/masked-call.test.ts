import { beforeEach, describe, expect, it } from "vitest";
import { createMasking, type Masking } from "../../../src/agent/llm/masked-request.ts";
import type { Message } from "../../../src/agent/llm/model.ts";
import { unmaskCall } from "../../../src/agent/loop/run-agent.ts";
import { editFile } from "../../../src/agent/tools/edit-file.ts";
import { readFilePart } from "../../../src/agent/tools/read-file-part.ts";
import { reportFinding } from "../../../src/agent/tools/report-finding.ts";
import { searchInFiles } from "../../../src/agent/tools/search-in-files.ts";
import type { AnyTool } from "../../../src/agent/tools/tool.ts";
import { writeFile } from "../../../src/agent/tools/write-file.ts";
import { Masks } from "../../../src/core/secrets/masks.ts";

const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const conversation: Message[] = [{ role: "user", content: `const a = "${secret}";` }];
const shown = /\*.*\*/;

let masking: Masking;
let mask: string;
beforeEach(async () => {
  masking = createMasking(new Masks());
  const { messages } = await masking.request({ messages: conversation, tools: [], maxOutputTokens: 1 });
  mask = shown.exec(messages[0]?.content ?? "")?.[0] ?? "";
});

const given = (tool: AnyTool, args: Record<string, unknown> | string, by = masking) =>
  unmaskCall(
    { id: "1", name: tool.name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
    tool,
    conversation,
    by,
  );

describe("a call that holds a mask", () => {
  it("A call that holds a mask quotes the value where a tool looks it up", async () => {
    const args = {
      path: "a.ts",
      quote: `const a = "${mask}";`,
      title: `${mask} is logged`,
      evidence: [{ path: mask }],
    };
    expect(await given(reportFinding, args)).toEqual({
      arguments: { ...args, quote: `const a = "${secret}";` },
      note: null,
    });
  });

  it("A call that holds a mask reads a file by its name", async () => {
    const read = await given(readFilePart, { file_path: `keys/${mask}.txt` });
    expect(read).toMatchObject({ arguments: { file_path: `keys/${secret}.txt` } });
    expect(await given(searchInFiles, { pattern: `"${mask}"` })).toEqual({
      refused: "pattern holds a masked secret. Search for the name to which the value is assigned.",
    });
  });

  it("A call that holds a mask offers no suggestion with it, and says so", async () => {
    const args = { path: "a.ts", quote: "x", suggestion: `const a = "${mask}" ?? "";` };
    expect(await given(reportFinding, args)).toEqual({
      arguments: { path: "a.ts", quote: "x" },
      note: "The suggestion was left out: it holds a masked secret.",
    });
  });

  it("A call that holds a mask writes none into a file or its name", async () => {
    const edit = { path: "a.ts", old_string: `"${mask}"`, new_string: "env.KEY" };
    expect(await given(editFile, edit)).toMatchObject({ arguments: { ...edit, old_string: `"${secret}"` } });
    expect(await given(editFile, { ...edit, new_string: `"${mask}"` })).toEqual({
      refused: expect.stringContaining("new_string holds a masked secret"),
    });
    expect(await given(writeFile, { path: `${mask}.ts`, content: "" })).toEqual({
      refused: "path holds a masked secret. Leave that file to a person.",
    });
    expect(await given(writeFile, { path: "b.ts", content: mask })).toEqual({
      refused: expect.stringContaining("content holds a masked secret"),
    });
    expect(await given(writeFile, JSON.stringify({ content: mask }).replace("*", "\\u002a"))).toEqual({
      refused: expect.stringContaining("content holds a masked secret"),
    });
    expect(await given(writeFile, `{path: "b.ts", content: "${mask}",}`)).toEqual({
      refused: expect.stringContaining("not valid JSON"),
    });
  });

  it("A call that holds a mask is read by a process that has masked nothing yet", async () => {
    const again = createMasking(new Masks([masking.masks.takeFresh() ?? { salt: "", numbers: {} }]));
    expect(await given(reportFinding, { quote: mask }, again)).toMatchObject({
      arguments: { quote: secret },
    });
  });

  it("A call that holds a mask stays as it is where the mask is of another run", async () => {
    for (const quote of ["*secret-77....*", "const a = b * 12 * c"]) {
      const args = JSON.stringify({ quote });
      expect(await given(reportFinding, args)).toEqual({ arguments: args, note: null });
    }
  });
});
