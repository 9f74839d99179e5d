import { describe, expect, it } from "vitest";
import { severities } from "../../../src/core/finding.ts";
import {
  codeHash,
  commentText,
  commentTitle,
  openFindings,
  textBelowTitle,
} from "../../../src/core/ledger/entry.ts";
import { emptyState } from "../../../src/core/ledger/state.ts";
import { readLedger } from "../../../src/pull/ledger/read-ledger.ts";
import { renderComment, type Spot } from "../../../src/pull/publish/render-comment.ts";
import { findingBody, marked, reply, Source, summary, thread, us } from "../../pull/ledger/ledger-source.ts";
import { sampleFinding } from "../../report/sample-result.ts";

const context = {
  repositoryUrl: "https://github.com/octo/shop",
  headSha: "b".repeat(40),
  mergeBaseSha: "a".repeat(40),
  trigger: "event#1",
};
const spots: Spot[] = [{ kind: "line" }, { kind: "file", reason: "it is not in the diff" }];

describe("the title in a comment of ours", () => {
  it.each([
    "The condition assigns instead of comparing",
    "`a ** b` is read as *bold* by __nobody__",
    "Ask @octocat about #12 | [here](x)",
    "<b>No</b> tag & no **end",
  ])("The title in a comment of ours is that of its finding: %s", (title) => {
    for (const severity of severities)
      for (const spot of spots)
        expect(commentTitle(renderComment(sampleFinding({ title, severity }), spot, context))).toBe(title);
  });

  it.each(["", "Thanks!", "**Bold** words", "text\n**🔴 High: later**"])(
    "The title in a comment of ours is none in %j",
    (body) => {
      expect(commentTitle(body)).toBe("");
    },
  );
});

describe("the text in a comment of ours", () => {
  const body = "Ask @octocat about #12.\n\n**🔴 High: this is no title**";

  it.each(spots)("The text in a comment of ours is what the finding says, on its $kind", (spot) => {
    const text = commentText(renderComment(sampleFinding({ body, title: "It leaks" }), spot, context));
    expect(text).toContain("It leaks");
    expect(text).toContain("Ask @octocat about #12.");
    expect(text).not.toContain("How this was checked");
    expect(textBelowTitle(text)).toMatch(/^Ask @octocat/);
    expect(textBelowTitle(text)).not.toContain("It leaks");
  });

  it("The text in a comment of ours is left as it is where no title stands above it", () => {
    expect(textBelowTitle("It leaks.\n\nAlways.")).toBe("It leaks.\n\nAlways.");
  });
});

describe("the open findings", () => {
  it("The open findings are those that count against the change: open or outdated", async () => {
    const source = new Source();
    const carry = (id: string, standing: "listed" | "annotated" | "unpublished") => ({
      ...{ finding: sampleFinding({ id, severity: "critical" }), standing, reason: "" },
    });
    const carried = [carry("a", "listed"), carry("b", "annotated"), carry("c", "unpublished")];
    source.comments = [summary({ ...emptyState, posted: ["deleted"], carried })];
    const isFixed = reply(us, marked("Fixed.", { kind: "fixed", comment: 102, head: "h" }));
    source.threads = [
      thread({ comment: 100, body: findingBody({ id: "open", severity: "high" }) }),
      thread({ comment: 101, body: findingBody({ id: "old", severity: "medium" }), outdated: true }),
      thread({ comment: 102, body: findingBody({ id: "fixed", severity: "low" }), replies: [isFixed] }),
    ];
    const found = openFindings(await readLedger(source));
    expect(found.map(({ severity }) => severity)).toEqual(["high", "medium", "critical", "critical"]);
  });
});

describe("the hash of code", () => {
  it("The hash of code is the same however the code is indented and wrapped", () => {
    const code = "if (a) {\n  b();\n}";
    for (const same of ["if (a) { b(); }", "\tif (a) {\r\n\t\tb();\r\n\t}\r\n", "if(a){b();}"])
      expect(codeHash(same)).toBe(codeHash(code));
  });

  it("The hash of code is another one for other code", () => {
    const codes = ["a = b", "a == b", "b = a", "a = B", ""];
    expect(new Set(codes.map(codeHash)).size).toBe(codes.length);
  });

  it("The hash of code stays what it is from version to version, for comments hold it", () => {
    expect(codeHash("return total - 1;")).toBe("mYkwJ-8iZ7y9");
    expect(codeHash("")).toMatch(/^[\w-]{12}$/);
  });
});
