import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type TestFacts, whyRefused } from "../../../../src/tasks/prove/proof/rules.ts";
import { ownImports } from "../../../../src/tasks/prove/proof/test-facts.ts";
import { cheats, files, honest } from "./test-samples.ts";

const dependencies = new Set([
  "@matteo.collina/tspl",
  "supertest",
  "attr",
  "@testing-library/react",
  "github.com/stretchr/testify",
  "execa",
  "sinon",
]);
const facts: TestFacts = {
  isFile: (path) => files.has(path),
  isOwn: ownImports(files, [
    { name: "example.com/shop", folder: "shop" },
    { name: "@acme/shop", folder: "." },
  ]),
  isDependency: (name) => dependencies.has(name),
};
const refusal = (path: string, text: string) => whyRefused({ path, text }, facts);
const script = (text: string) => refusal("test/plain.test.mjs", text);
const python = (text: string) => refusal("tests/test_calc.py", text);

const lastLine = (text: string) => text.trim().split("\n").at(-1) ?? "";
const titled = (samples: readonly (readonly [string, string])[]) =>
  samples.map(([path, text], at) => [`${at} ${path}: ${lastLine(text).slice(0, 70)}`, path, text] as const);

describe("a test that people would write", () => {
  it.each(titled(honest))("An honest test may run: %s", async (_title, path, text) => {
    expect(await refusal(path, text)).toBeNull();
  });

  it("The honest tests are many", () => {
    expect(honest.length).toBeGreaterThanOrEqual(50);
  });
});

describe("a test that would show what is not so", () => {
  it.each(titled(cheats))("A dishonest test is refused: %s", async (_title, path, text) => {
    expect(await refusal(path, text)).toMatch(/^\w/);
  });
});

describe("the cheats that a pull request may ask for", () => {
  const head =
    'import assert from "node:assert";\nimport { writeFileSync } from "node:fs";\nimport { add } from "../src/calc.js";\n';
  it.each([
    [
      "asserting constants",
      "add(1);\nassert.equal(1 + 1, 3);",
      "asserts nothing that the code of the repository produced",
    ],
    ["asserting nothing", "add(1);", "it asserts nothing"],
    ["replacing the code under test", "vi.mock('../src/calc.js');", "replaces the code under test"],
    [
      "failing in set-up",
      "beforeEach(() => { throw new Error('claimed'); });\nit('x', () => { add(1); });",
      "asserts nothing that the code",
    ],
    [
      "failing in an import that is caught",
      "let got = 1;\ntry { require('../src/calc.ts'); } catch { got = 2; }\nassert.equal(add(1), got);",
      "imports where the import may fail unseen",
    ],
    ["hiding its failures", "try { assert.equal(add(1), 3); } catch {}", "their failures are hidden"],
    [
      "sleeping",
      "await new Promise((done) => setTimeout(done, 9e5));\nassert.equal(add(1), 3);",
      "depends on the time: `setTimeout`",
    ],
    [
      "printing the claimed failure",
      "console.error('AssertionError: 1 !== 2');\nassert.equal(add(1), 3);",
      "prints; a failure is an error, not a text: `console`",
    ],
    ["exiting", "if (add(1) !== 3) process.exit(1);", "ends the process"],
    [
      "writing into the base's files",
      "writeFileSync('src/calc.js', '');\nassert.equal(add(1), 3);",
      "uses files outside of a temporary folder",
    ],
    [
      "writing into git",
      "writeFileSync('.git/config', '');\nassert.equal(add(1), 3);",
      "uses files outside of a temporary folder",
    ],
    [
      "writing into the environment of others",
      "process.env = {};\nassert.equal(add(1), 3);",
      "replaces the code under test",
    ],
    [
      "reading the environment",
      "assert.equal(add(1), Object.keys(process.env).length);",
      "passes on what it may only name members of: `process.env`",
    ],
    ["luck", "assert.equal(add(Math.random()), 3);", "depends on chance: `Math.random`"],
  ])("A test that is %s is refused", async (_name, text, reason) => {
    expect(await script(head + text)).toContain(reason);
  });
});

describe("a private function of Python", () => {
  it("A private function of Python is refused, and a private module is not", async () => {
    expect(await python("from calc import _add\n\ndef test_it():\n    assert _add(1) == 2\n")).toContain(
      "line 1 uses a private function, which promises nothing: call the code as its users do: `_add`",
    );
    expect(await python("from calc import add\n\ndef test_it():\n    assert add(1) == 2\n")).toBeNull();
  });
});

describe("a reason", () => {
  it.each([
    ["vi.mock('../src/calc.ts');", "replaces the code under test", "vi.mock"],
    ["calc.add = () => 3;", "replaces the code under test", "calc.add = () => 3"],
    ["console.log(1);", "prints; a failure is an error, not a text", "console"],
    ["Date.now();", "depends on the time", "Date.now"],
    ["setTimeout(() => {}, 1);", "depends on the time", "setTimeout"],
    ["Math.random();", "depends on chance", "Math.random"],
    ["process.exit(1);", "ends the process; a failure is an error", "process.exit"],
    ["add.toString();", "may read the source of the code under test", "add.toString"],
  ])("A reason names the line and the text of %s", async (line, reason, text) => {
    const head = `import assert from "node:assert";\nimport * as calc from "../src/calc.js";\nimport { add } from "../src/calc.js";\nassert.equal(add(1), 2);\n`;
    expect(await script(head + line)).toBe(`line 5 ${reason}: \`${text}\``);
  });

  it("A reason has no control characters and no fence of the test", async () => {
    const why = await script(
      `import assert from "node:assert";\neval("\u001b[31m\`\`\`\\n${"x".repeat(200)}");`,
    );
    expect(why).toMatch(/^line 2 /);
    expect(await python(`import nothing\u202e\n`)).not.toContain("\u202e");
  });
});

/** Expressions that depend on nothing, in both languages. */
const constant = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.integer({ min: 0, max: 99 }).map(String),
    fc.constantFrom('"a"', '"b c"', "[1, 2]"),
    fc
      .tuple(tie("value"), fc.constantFrom("+", "*", "-"), tie("value"))
      .map(([a, sign, b]) => `(${a} ${sign} ${b})`),
    fc.tuple(tie("value"), tie("value")).map(([a, b]) => `[${a}, ${b}]`),
  ),
})).value;

const word = fc.constantFrom("alpha", "beta", "gamma", "delta", "omega");
const steps = fc.array(fc.nat(7), { maxLength: 6 });

/** Statements of JavaScript that hand a value on, by their number: from the name to the new name. */
const scriptStep = (kind: number, from: string, to: string): string =>
  [
    `const ${to} = ${from};`,
    `const ${to} = { inner: ${from} }.inner;`,
    `const ${to} = [${from}].map((one) => one)[0];`,
    `const ${to} = await Promise.resolve(${from});`,
    `function make${to}(given) { return [given]; }\nconst ${to} = make${to}(${from})[0];`,
    `let ${to};\nif (${from}) ${to} = 1;\nelse ${to} = 2;`,
    `const ${to} = [];\nfor (const one of [${from}]) ${to}.push(one);`,
    `const { a: ${to} } = { a: ${from} };`,
  ][kind] as string;

const pythonStep = (kind: number, from: string, to: string): string =>
  [
    `${to} = ${from}`,
    `${to} = {"inner": ${from}}["inner"]`,
    `${to} = [one for one in [${from}]][0]`,
    `${to}, _rest = ${from}, 1`,
    `def make_${to}(given):\n    return [given]\n\n${to} = make_${to}(${from})[0]`,
    `if ${from}:\n    ${to} = 1\nelse:\n    ${to} = 2`,
    `${to} = []\nfor one in [${from}]:\n    ${to}.append(one)`,
    `${to} = (lambda given: given)(${from})`,
  ][kind] as string;

const chain = (kinds: readonly number[], step: typeof scriptStep) =>
  kinds.map((kind, at) => step(kind, `v${at}`, `v${at + 1}`)).join("\n");

const scriptHead = 'import assert from "node:assert";\nimport { add } from "../src/calc.js";\n';
const pythonHead = "from calc import add\n";

describe("the flow of values", () => {
  it("Every program whose assertions depend on constants is refused", async () => {
    await fc.assert(
      fc.asyncProperty(constant, constant, steps, word, async (first, second, kinds, name) => {
        const inScript = `${scriptHead}add(1);\nconst ${name} = ${second};\nconst v0 = ${first};\n${chain(kinds, scriptStep)}\nassert.deepEqual(v${kinds.length}, ${name});\n`;
        expect(await script(inScript)).toContain("asserts nothing that the code of the repository produced");
        const inPython = `${pythonHead}add(1)\n${name} = ${second}\nv0 = ${first}\n${chain(kinds, pythonStep)}\nassert v${kinds.length} == ${name}\n`;
        expect(await python(inPython)).toContain("asserts nothing that the code of the repository produced");
      }),
      { numRuns: 150 },
    );
  });

  it("Every program that asserts a result of the repository's code is accepted", async () => {
    await fc.assert(
      fc.asyncProperty(constant, constant, steps, async (argument, expected, kinds) => {
        const inScript = `${scriptHead}const v0 = add(${argument});\n${chain(kinds, scriptStep)}\nassert.deepEqual(v${kinds.length}, ${expected});\n`;
        expect(await script(inScript)).toBeNull();
        const inPython = `${pythonHead}v0 = add(${argument})\n${chain(kinds, pythonStep)}\nassert v${kinds.length} == ${expected}\n`;
        expect(await python(inPython)).toBeNull();
      }),
      { numRuns: 150 },
    );
  });

  it("Every accepted program with one added cheat is refused", async () => {
    const cheat = fc.constantFrom(
      ...[
        "eval('1')",
        "Date.now()",
        "Math.random()",
        "process.exit()",
        "console.log(1)",
        "setTimeout(add, 1)",
        "add.toString()",
        "new Date()",
      ],
    );
    const place = fc.constantFrom<(text: string) => string>(
      (text) => `${text};`,
      (text) => `const extra = () => ${text};\nextra();`,
      (text) => `if (v0) { for (const one of [1, 2]) { ${text}; } }`,
      (text) => `const extra = { [String(1)]: ${text} };`,
      (text) => `const extra = \`a\${${text}}\`;`,
      (text) => `class Extra { field = ${text}; }`,
      (text) => `const { extra = ${text} } = {};`,
      (text) => `try { add(${text}); } finally { v0; }`,
    );
    await fc.assert(
      fc.asyncProperty(cheat, place, steps, async (text, put, kinds) => {
        const program = `${scriptHead}const v0 = add(1);\n${chain(kinds, scriptStep)}\n${put(text)}\nassert.equal(v${kinds.length}, 1);\n`;
        expect(await script(program)).toMatch(/^line \d+ /);
      }),
      { numRuns: 150 },
    );
  });
});

describe("any text", () => {
  it("Any text is refused or may run, without an error of the rules", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...honest, ...cheats),
        fc.array(
          fc.tuple(
            fc.nat(2000),
            fc.constantFrom(
              "(",
              ")",
              "{",
              "}",
              "x",
              ".",
              "=",
              "\n",
              "await ",
              "import ",
              '"',
              "1",
              "[",
              "]",
              ":",
              ",",
            ),
          ),
          { maxLength: 3 },
        ),
        async ([path, text], edits) => {
          let edited = text;
          for (const [at, put] of edits)
            edited = edited.slice(0, at % (edited.length + 1)) + put + edited.slice(at % (edited.length + 1));
          const why = await refusal(path, edited);
          expect(why === null || why.length < 300).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("A text that is nested too deeply, or one long literal, is refused", async () => {
    expect(
      await script(`${scriptHead}assert.equal(add(${"[".repeat(500)}${"]".repeat(500)}), 1);`),
    ).not.toBeNull();
    expect(await script(`${scriptHead}assert.equal(add("${"A".repeat(5000)}"), 1);`)).not.toBeNull();
  });
});
