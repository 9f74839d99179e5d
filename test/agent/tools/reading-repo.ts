import { GitRepo } from "../../support/git-repo.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join("");

/** A small change with something of everything: hidden, generated, private, binary, overlong, not UTF-8. */
export function createReadingRepo(): GitRepo {
  const repo = GitRepo.create();
  repo.commit("base", {
    "src/a.ts": "one\ntwo\nthree\n",
    "long.txt": numbered(10),
    "package-lock.json": '{ "lockfileVersion": 2, "packages": {}, "dependencies": {} }\n',
  });
  repo.branch("topic");
  repo.commit("Rename the parser\n\nBecause it parses.\n\nRefs #1", {
    "src/a.ts": "one\nTWO needle\nthree\nfour\nfive\nneedle\n",
    "src/b.test.ts": "Needle\nneedles\nx.y\nxzy\n",
    "src/deep/er/c.py": "needle = 1\n",
    ".config/hidden.yml": "needle: true\n",
    "long.txt": numbered(9_000),
    "empty.txt": "",
    "crlf.txt": "a\r\nb\r\n",
    "latin.txt": Buffer.from("caf\xe9\n", "latin1"),
    "image.png": Buffer.from([137, 80, 0, 1]),
    "wide.txt": `${"x".repeat(40_000)}needle\nshort\n`,
    "package-lock.json": '{ "lockfileVersion": 3, "packages": {} }\n',
    "secrets/key.txt": "needle CANARY\n",
    link: { mode: "120000", data: "src/a.ts" },
  });
  for (let at = 1; at <= 24; at += 1) repo.commit(`Commit ${at}`);
  return repo;
}
