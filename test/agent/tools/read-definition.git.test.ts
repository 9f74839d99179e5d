import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DefinitionOutput } from "../../../src/agent/tools/read-definition.ts";
import { MAX_RENDERED_BYTES } from "../../../src/repo/show.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { type ContextOptions, openRepository, toolsOn } from "./context.ts";

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;
const open = (options: ContextOptions = {}) => toolsOn(opened.workspace, options);

const parser = `import { read } from "./read.ts";

/** Parses numbers. */
export class Parser {
  /** The next one. */
  next(): number {
    return parse(read());
  }
}

// Turns text
// into a number.
export function parse(text: string): number {
  return Number(text);
}

export const limits = {
  digits: 12,
};
`;
const overloads = `class Cart {
  int add(int count) {
    return add(count, 1);
  }

  int add(int count, int price) {
    return count * price;
  }
}

class Basket {
  int add(int count) {
    return count;
  }
}
`;
const members = Array.from({ length: 900 }, (_, at) => `  step${at}() {\n    return ${at};\n  }\n`).join("");

beforeAll(async () => {
  repo = GitRepo.create();
  repo.commit("base", {
    "src/parser.ts": parser.replace("Number(text)", "parseInt(text)"),
    "src/moved.ts": "export function gone() {\n  return 1;\n}\n",
    "lib/far/parse.py": "def parse(text):\n    return int(text)\n",
    "test/parser.test.ts": "function parse() {\n  return 0;\n}\nit('parses', () => parse());\n",
    "vendor/parse.js": "function parse() {\n  return 1;\n}\n",
    "docs/guide.md": "Call parse(text), or lookalike(text).\n",
    "secrets/parse.ts": "export function parse() {\n  return 'CANARY';\n}\nexport function hidden() {}\n",
    "src/big.ts": `/** All steps. */\nexport class Big {\n${members}}\n`,
    "src/overloads.ts":
      "export function pick(a: string): string;\nexport function pick(a: number): number;\nexport function pick(a: unknown) {\n  return a;\n}\n",
    "src/Cart.java": overloads,
    "latin.py": Buffer.from("def caf():\n    return 'caf\xe9'\n", "latin1"),
    "odd.js": "function $get() {\n  return 1;\n}\n",
  });
  repo.branch("topic");
  repo.commit("change", {
    "src/parser.ts": parser,
    "src/moved.ts": null,
    "src/kept.ts": "export const kept = 1;\n",
  });
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

const placesOf = ({ definitions, others }: DefinitionOutput) => ({
  whole: definitions.map((one) => one.file_path),
  others: others.map((one) => one.file_path),
});

describe("read_definition", () => {
  const read = (sent: Record<string, unknown>, options?: ContextOptions) =>
    open(options).output<DefinitionOutput>("read_definition", sent);

  it("read_definition gives the whole body with its comment, in real line numbers", async () => {
    const { text } = await open().run("read_definition", { name: "Parser.next" });

    expect(text).toBe(
      [
        "src/parser.ts, method Parser.next, lines 5-8 of 19",
        "5|  /** The next one. */",
        "6|  next(): number {",
        "7|    return parse(read());",
        "8|  }",
      ].join("\n"),
    );
  });

  it.each([
    ["a class", "Parser", "class", 3, 9],
    ["a function", "parse", "function", 11, 15],
    ["a constant", "limits", "constant", 17, 19],
    ["a call", "parse(text)", "function", 11, 15],
    ["a method by its type", "Parser#next", "method", 5, 8],
    ["a method by its path", "src::parser::Parser::next()", "method", 5, 8],
  ])("read_definition finds %s", async (_, name, kind, start_line, end_line) => {
    const { definitions } = await read({ name });

    expect(definitions[0]).toMatchObject({ file_path: "src/parser.ts", kind, start_line, end_line });
  });

  it("read_definition says that a requested type has no such member, but not of a module or a folder", async () => {
    const textOf = async (name: string) => (await open().run("read_definition", { name })).text;

    const lost = await textOf("Scanner.next");
    expect(lost).toMatch(
      /^No Scanner has a member next; these are others of that name\.\n\nsrc\/parser\.ts, /,
    );
    for (const name of ["Parser.next", "parser.parse", "far.parse.parse"])
      expect(await textOf(name)).not.toContain("has a member");
  });

  it("read_definition puts files of the change first, and tests and foreign files last", async () => {
    const output = await read({ name: "parse" }, { private: ["secrets/"] });

    expect(placesOf(output)).toEqual({
      whole: ["src/parser.ts", "lib/far/parse.py"],
      others: ["test/parser.test.ts", "vendor/parse.js"],
    });
  });

  it("read_definition looks into the named file first", async () => {
    const sent = { name: "parse", file_path: "test/parser.test.ts" };
    const output = await read(sent, { private: ["secrets/"] });

    expect(placesOf(output)).toEqual({
      whole: ["test/parser.test.ts"],
      others: ["src/parser.ts", "lib/far/parse.py", "vendor/parse.js"],
    });
  });

  it("read_definition says why a named file was ignored, and looks elsewhere", async () => {
    const { result, text } = await open({ private: ["secrets/"] }).run("read_definition", {
      name: "limits",
      file_path: "secrets/parse.ts",
    });

    expect(result).toMatchObject({
      status: "success",
      output: { definitions: [{ file_path: "src/parser.ts" }] },
    });
    expect(text).toContain("(file_path was ignored: 'secrets/parse.ts' is withheld by configuration.)");
    expect(
      (await open().run("read_definition", { name: "limits", file_path: "src/praser.ts" })).text,
    ).toContain("did you mean 'src/parser.ts'");
  });

  it("read_definition shows nothing of private files, at either revision", async () => {
    const tools = open({ private: ["secrets/"] });
    for (const ref of ["head", "merge_base"]) {
      for (const name of ["parse", "hidden"]) {
        const { result, text } = await tools.run("read_definition", { name, ref });
        expect(text + JSON.stringify(result)).not.toMatch(/CANARY|secrets/);
      }
    }
  });

  it("read_definition reads what was there before the change, deleted files too", async () => {
    const before = await open().run("read_definition", { name: "parse", ref: "merge_base" });
    expect(before.text).toContain("src/parser.ts, function parse, lines 11-15 of 19 at merge_base");
    expect(before.text).toContain("14|  return parseInt(text);");
    expect(placesOf(await read({ name: "gone", ref: "merge_base" })).whole).toEqual(["src/moved.ts"]);
    expect(placesOf(await read({ name: "gone" })).whole).toEqual([]);
    expect(placesOf(await read({ name: "kept", ref: "merge_base" })).whole).toEqual([]);
  });

  it("read_definition takes the signatures of one function for one definition", async () => {
    const { definitions, others } = await read({ name: "pick" });

    expect(definitions).toMatchObject([{ start_line: 1, end_line: 5, last_line: 5 }]);
    expect(others).toEqual([]);
  });

  it("read_definition gives only the one asked for by file and type", async () => {
    const asked = { name: "Basket.add", file_path: "src/Cart.java" };
    expect((await open().run("read_definition", asked)).text).toBe(
      [
        "src/Cart.java, method Basket.add, lines 12-14 of 15",
        "12|  int add(int count) {",
        "13|    return count;",
        "14|  }",
        "",
        "(1 other of this name: src/Cart.java:2)",
      ].join("\n"),
    );
    const { text } = await open({ private: ["secrets/"] }).run("read_definition", {
      ...{ name: "parse", file_path: "./src/parser.ts" },
    });
    expect(text.split("\n").at(-1)).toBe(
      "(3 others of this name: lib/far/parse.py:1, test/parser.test.ts:1, vendor/parse.js:1)",
    );
  });

  it("read_definition gives the overload at the line asked for", async () => {
    const chosen = async (line: number, file_path: string | undefined = "src/Cart.java") => {
      const { result, text } = await open().run("read_definition", { name: "add", file_path, line });
      const { definitions } =
        result.status === "success" ? (result.output as DefinitionOutput) : { definitions: [] };
      return { text, ranges: definitions.map((one) => [one.start_line, one.end_line]) };
    };
    expect((await chosen(3)).ranges).toEqual([[2, 4]]);
    expect((await chosen(6)).ranges).toEqual([[6, 8]]);
    expect((await chosen(13)).ranges).toEqual([[12, 14]]);
    expect((await chosen(10)).text).toContain(
      "(line was ignored: no definition of 'add' there has line 10.)",
    );
    const pick = await read({ name: "pick", file_path: "src/overloads.ts", line: 4 });
    expect(pick.definitions).toMatchObject([{ start_line: 1, end_line: 5 }]);
    const anywhere = await open().run("read_definition", { name: "add", line: 6 });
    expect(anywhere.text).toContain("(line was ignored: it needs file_path.)");
  });

  it("read_definition cuts a long body, with the call that continues and the members behind it", async () => {
    const tools = open();
    const { result, text } = await tools.run("read_definition", { name: "Big" });
    const [big] = (result.status === "success" && (result.output as DefinitionOutput).definitions) || [];

    expect(result.metadata.truncated).toBe(true);
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_RENDERED_BYTES / 2);
    const more = JSON.parse(/\(more of it: read_file_part (.*)\)/.exec(text)?.[1] ?? "null");
    expect(more).toEqual({ file_path: "src/big.ts", start_line: big!.last_line + 1, end_line: 2703 });
    const rest = await tools.output<{ content: string }>("read_file_part", more);
    expect(rest.content).toMatch(new RegExp(`^${big!.last_line + 1}\\|`));
    const [member] = big!.members_left;
    expect(text).toContain(`\n${member!.start_line}-${member!.end_line} ${member!.name}`);
    expect(member!.start_line).toBeGreaterThan(big!.last_line);
  });

  it("read_definition says so when nothing defines a name, and where it stands", async () => {
    const tools = open();
    const named = await tools.run("read_definition", { name: "lookalike" });
    expect(named.result).toMatchObject({ status: "success", output: { definitions: [], others: [] } });
    expect(named.text).toBe(
      "No definition of 'lookalike' at head; the name occurs here:\ndocs/guide.md:1: Call parse(text), or lookalike(text).",
    );
    const inside = { name: "lookalike", file_path: "docs/guide.md" };
    expect((await tools.run("read_definition", inside)).text).toBe(named.text);
    const nowhere = await tools.run("read_definition", { name: "nowhere" });
    expect(nowhere.text).toMatch(
      /^No definition of 'nowhere' at head, and no file that can be searched holds the name/,
    );
  });

  it("read_definition takes a name as it is, whatever it means in a regular expression", async () => {
    expect(placesOf(await read({ name: "$get" })).whole).toEqual(["odd.js"]);
    for (const name of [".*", "a|b", "p[a]rse", "(?i)PARSE", "\\w+", "-e", "*", "parse\u202E"]) {
      const { result } = await open().run("read_definition", { name });
      const found = result.status === "success" ? placesOf(result.output as DefinitionOutput).whole : [];
      expect(found).toEqual([]);
    }
  });

  it.each([
    ["no name", { name: "()" }, /'\(\)' is not a name/],
    ["two lines", { name: "a\nb" }, /is not a name/],
    ["nothing", { name: "" }, /at name/],
  ])("read_definition refuses %s", async (_, sent, words) =>
    expect(await open().error("read_definition", sent)).toMatch(words),
  );

  it("read_definition says that a file is not UTF-8", async () => {
    expect((await open().run("read_definition", { name: "caf" })).text).toBe(
      "latin.py, function caf, lines 1-2 of 2 (not UTF-8, decoded as Latin-1)\n1|def caf():\n2|    return 'café'",
    );
  });
});

describe("a name that stands on thousands of lines", () => {
  it("A name that stands on thousands of lines is found where it looks most defined", async () => {
    using bulky = GitRepo.create({ bare: true });
    const uses = Array.from({ length: 300 }, (_, at) => [`a/use${at}.py`, "common(1)\n".repeat(20)] as const);
    bulky.importCommits([
      { branch: "main", files: [...uses, ["z/common.py", "def common(number):\n    return number\n"]] },
      { branch: "topic", parents: ["main"], files: [["b.py", "common(3)\n"]] },
    ]);
    await using over = await openRepository(bulky);
    const { context, run } = toolsOn(over.workspace);
    let read = 0;
    const { readBlob } = over.workspace;
    context.workspace.readBlob = (oid) => {
      read += 1;
      return readBlob.call(over.workspace, oid);
    };
    const { result, text } = await run("read_definition", { name: "common" });

    expect(text).toMatch(/^z\/common\.py, function common, lines 1-2 of 2\n/);
    expect(text).toContain("(Some files that hold the name were not searched.)");
    expect(result.metadata.truncated).toBe(true);
    expect(read).toBeLessThan(100);
  });
});
