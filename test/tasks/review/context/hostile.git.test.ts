import { describe, expect, it } from "vitest";
import { createMasking } from "../../../../src/agent/llm/masked-request.ts";
import { learningWorkspace } from "../../../../src/border/masking.ts";
import { Masks } from "../../../../src/core/secrets/masks.ts";
import { byteLength } from "../../../../src/core/text/cut.ts";
import { openRepository } from "../../../agent/tools/context.ts";
import { GitRepo } from "../../../support/git-repo.ts";
import { writeOut } from "../../../support/secret-corpus.ts";
import { seeded } from "../../../support/seeded.ts";
import {
  changeMessage,
  codeAround,
  diffOf,
  firstMessageIn,
  firstMessageOf,
  manyLines,
  pieceOf,
} from "./first-message.ts";

const source = (value: number) =>
  `export function parseRow(x) {\n${manyLines("  // remark", 9)}  return x + ${value};\n}\n`;

describe("the context of a hostile repository", () => {
  it("The context stays within its bytes with thousands of uses, long lines and deep folders", async () => {
    const deep = Array.from({ length: 60 }, (_, at) => `d${at}`).join("/");
    const before = {
      "src/row.js": source(1),
      "src/many.js": manyLines("parseRow(1); //", 8_000),
      "src/wide.js": `export const a = parseRow("${"x".repeat(200_000)}");\n`,
      "src/lines.js": `function near() {\n  return parseRow(1, "${"y".repeat(20_000)}");\n}\n${manyLines("// line", 200)}`,
      [`${deep}/user.js`]: "function deepest() {\n  return parseRow(2);\n}\n",
      "src/user.js": "function user() {\n  return parseRow(3);\n}\n",
    };
    const message = await firstMessageOf(
      before,
      { "src/row.js": source(2) },
      { over: { contextBytes: 6_000 } },
    );
    const code = codeAround(message);
    expect(byteLength(code)).toBeLessThanOrEqual(6_000);
    expect(diffOf(message, "src/row.js")).toContain("1  export function parseRow(x) {");
    expect(Math.max(...code.split("\n").map((line) => line.length))).toBeLessThan(1_000);
  });

  it("The context finds uses of a rare name beside a common one", async () => {
    const before = {
      "a/noise.js": manyLines("total(1); //", 9_000),
      "a/row.js": source(1).replace("return x", "return total(x)"),
      "z/user.js": "function user() {\n  return parseRow(3);\n}\n",
    };
    const after = { "a/row.js": source(2).replace("return x", "return total(x)") };
    const message = await firstMessageOf(before, after);
    expect(pieceOf(message, "z/user.js", "uses parseRow in function user")).toContain(
      "2|  return parseRow(3);",
    );
  });

  it("The context finds what hundreds of changed functions call", async () => {
    const files = (sign: string) =>
      Object.fromEntries(
        Array.from({ length: 9 }, (_, file) => [
          `src/f${file}.go`,
          `package src\n\n${Array.from({ length: 50 }, (_, at) => `func run${file}x${at}() int {\n\treturn ${sign}shared(${at})\n}\n`).join("\n")}`,
        ]),
      );
    const helper = "package src\n\nfunc shared(n int) int {\n\treturn -n\n}\n";
    const message = await firstMessageOf({ ...files(""), "src/shared.go": helper }, files("-"));
    expect(pieceOf(message, "src/shared.go", "function shared, called by run")).toContain("4|\treturn -n");
  });

  it("The context holds no secret of the files that it searches", async () => {
    const random = seeded(5);
    const secrets: string[] = [];
    /** With a secret in the middle of the function that uses the name. */
    const user = (name: string, at: number) => {
      const pem = writeOut("{pem:RSA PRIVATE KEY:700}", random).trim().split("\n");
      secrets.push(...pem.slice(1, -1).filter((line) => line.length > 40));
      const lines = pem.map((line) => `  "${line}",`).join("\n");
      return `export function ${name}() {\n  const keys = [\n${lines}\n  ];\n  return parseRow(keys[${at}], total);\n}\n`;
    };
    const users = (folder: string, count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`${folder}/u${at}.js`, user(`${folder}${at}`, at)]),
      );
    const before = {
      "src/row.js": source(1),
      ...users("near", 6),
      "docs/rows.md": `# Rows\n\nCall \`parseRow\`:\n\n${user("shown", 1)}`,
    };
    using repo = GitRepo.create();
    repo.commit("Begin", before);
    repo.branch("topic");
    repo.commit("Change it", { "src/row.js": source(2) });
    const masks = new Masks();
    const masking = createMasking(masks);
    await using opened = await openRepository(repo);
    const workspace = learningWorkspace(opened.workspace, masks);
    const message = await firstMessageIn(repo, { over: { workspace } });
    const shown = secrets.filter((line) => message.includes(line));
    expect(shown.length).toBeGreaterThan(3);
    const request = {
      messages: [{ role: "user" as const, content: message }],
      tools: [],
      maxOutputTokens: 1,
    };
    const sent = JSON.stringify(await masking.request(request));
    expect(secrets.filter((line) => sent.includes(line))).toEqual([]);
  });

  it("The context searches names with regular expression characters literally", async () => {
    const ruby = (value: number) =>
      `class Row\n  def empty?(x)\n${manyLines("    # remark", 9)}    x == ${value}\n  end\nend\n`;
    const script = (value: number) =>
      `function $a$(x) {\n${manyLines("  // remark", 9)}  return x + ${value};\n}\n`;
    const message = await firstMessageOf(
      { "row.rb": ruby(1), "a.js": script(1), "user.js": "function user() {\n  return $a$(3);\n}\n" },
      { "row.rb": ruby(2), "a.js": script(2) },
    );
    expect(diffOf(message, "row.rb")).toContain("2    def empty?(x)");
    expect(pieceOf(message, "user.js", "uses $a$ in function user")).toContain("2|  return $a$(3);");
  });

  it("The context shows nothing of private, vendored and generated files, nor of links", async () => {
    const user = "function user() {\n  return parseRow(3);\n}\n";
    const message = await changeMessage(
      "src/row.js",
      source,
      [1, 2],
      {
        "secret/user.js": user,
        "vendor/user.js": user,
        "src/user.min.js": user,
        "src/link.js": { mode: "120000", data: "../secret/user.js" },
        "secret/notes.md": "Call `parseRow` twice.\n",
      },
      { private: ["secret/"] },
    );
    expect(codeAround(message)).not.toMatch(/secret|vendor|min\.js|link\.js|return parseRow/);
  });

  it("The context of one commit is always the same", async () => {
    const users = Array.from({ length: 12 }, (_, at) => [
      `src/u${at}.js`,
      `function user${at}() {\n  return parseRow(${at});\n}\n`,
    ]);
    const change = [
      { "src/row.js": source(1), ...Object.fromEntries(users) },
      { "src/row.js": source(2) },
    ] as const;
    const [one, other] = [await firstMessageOf(...change), await firstMessageOf(...change)];
    expect(pieceOf(one, "src/u3.js")).not.toBe("");
    expect(other).toBe(one);
  });

  it("A review goes on without code if time or room is up", async () => {
    const change = [{ "src/row.js": source(1) }, { "src/row.js": source(2) }] as const;
    let clock = 0;
    const late = await firstMessageOf(...change, { over: { now: () => (clock += 20_000) } });
    const narrow = await firstMessageOf(...change, { over: { contextBytes: 0 } });
    for (const message of [late, narrow]) {
      expect(codeAround(message)).toBe("");
      expect(message).toContain("11 +  return x + 2;");
    }
  });
});
