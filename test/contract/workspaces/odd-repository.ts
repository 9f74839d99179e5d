import { type Content, GitRepo } from "../../support/git-repo.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");
const code = (name: string) =>
  `/** Says it. */\nexport function ${name}(n: number) {\n  return n + 1; // needle\n}\n`;
/** git treats it as text, because it looks only at the first 8,000 bytes. */
const lateNul = Buffer.concat([
  Buffer.from(`${"line\n".repeat(2_000)}`),
  Buffer.from([0, 10]),
  latin1("needle behind\n"),
]);

const head: (readonly [string | Buffer, Content | null])[] = [
  ["src/a.ts", code("first").replace("1", "2") + code("second")],
  ["src/old name.ts", null],
  ["src/new name.ts", `${code("moved") + code("more")}// moved\n`],
  ["gone.txt", null],
  ["mode.sh", { mode: "100755", data: "echo needle\n" }],
  ["type", { mode: "120000", data: "src/needle" }],
  ["module", { mode: "160000", data: "1".repeat(40) }],
  ["a-b.py", "needle = 1\nNEEDLE = 2\n"],
  ["a/b.py", "import os\nneedle = 3\nneedles\n"],
  ["a.py", "no end needle"],
  [".hidden/.x.yml", "needle: true\n"],
  [".gitignore", "*\n"],
  [".ignore", "*.py\n"],
  [".gitattributes", "*.ts -diff\n"],
  ["crlf.txt", "a\r\nneedle\r\n\r\nb\r\n"],
  ["bom.txt", "\ufeffneedle\n"],
  ["latin.txt", latin1("caf\xe9 needle\nna\xefve\n")],
  ["mixed.txt", Buffer.concat([Buffer.from("é needle\n"), latin1("\xe9 needle\n")])],
  ["empty.txt", ""],
  ["blank.txt", "\n\n\n"],
  ["image.png", Buffer.from([137, 80, 0, 1, 10, 110, 101, 101, 100, 108, 101])],
  ["late.txt", lateNul],
  ["utf16.txt", Buffer.from("needle\n", "utf16le")],
  ["wide.js", `${"x".repeat(40_000)}needle${"y".repeat(9_000)}\nshort\n`],
  ["long.txt", Array.from({ length: 3_000 }, (_, at) => `line ${at + 1}\n`).join("")],
  ["[odd] {name}.md", "# needle\n"],
  ["new\nline.txt", "needle\n"],
  ['q"uote.txt', "needle\n"],
  ["trail ", "needle\n"],
  ["é/日本.go", "package main\n\nfunc needle() {}\n"],
  [latin1("dir\xe9/\xe9.py"), "needle = 4\n"],
  ["secrets/key.txt", "needle CANARY\n"],
  ["Makefile", "needle:\n\techo\n"],
  ["-dash.c", "int needle;\n"],
];

const isText = (content: Content | null) => typeof content === "string" || Buffer.isBuffer(content);

/** The files before the edits to match the head. */
const drafted: typeof head = [
  ["src/a.ts", code("first")],
  ["src/new name.ts", code("moved") + code("more")],
  ["a.py", "needle to go\n"],
  ["a/more/stray.py", "needle\n"],
  ["late.txt", "text\n"],
  ["long.txt", "line 1\nline 3000\n"],
];

/** A change with every case in which readers of a repository may differ. `draft` is the same commit without most of the files. */
export function createOddRepository(): GitRepo {
  const repo = GitRepo.create({ bare: true });
  repo.importCommits([
    {
      branch: "main",
      files: [
        ["src/a.ts", code("first")],
        ["src/old name.ts", code("moved") + code("more")],
        ["gone.txt", "a needle that goes\n"],
        ["mode.sh", "echo needle\n"],
        ["type", "a file\n"],
      ],
    },
    {
      branch: "topic",
      message: "Say it louder\n\nBody é",
      parents: ["main"],
      files: head,
    },
    {
      branch: "draft",
      message: "Say it",
      parents: ["main"],
      files: [...head.filter(([, content], at) => !isText(content) || at % 3 === 0), ...drafted],
    },
  ]);
  return repo;
}
