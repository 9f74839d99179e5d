import { execFileSync } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { issuedKinds } from "../../../../src/core/secrets/forms.ts";
import { secretsAnalyzer } from "../../../../src/tasks/rules/analyzers/secrets.ts";
import { editedFile, wholeFile } from "./analyzed-file.ts";

const { signal } = new AbortController();
const analyzer = secretsAnalyzer;
const find = (path: string, text: string) => analyzer.analyze(wholeFile(path, text), signal);

/** Made anew in every run, so that no scanner finds a token in this repository. */
const word = (length: number) =>
  randomBytes(length * 2)
    .toString("base64")
    .replace(/\W/g, "")
    .slice(0, length);
const gitHubToken = `ghp_${word(36)}`;
/** All but the last character. */
const awsKey = randomBytes(60).toString("base64").slice(0, 39);

describe("secrets", () => {
  it("A token is found on its line and not repeated", async () => {
    const found = await find("src/client.ts", `const url = "x";\nconst token = "${gitHubToken}";\n`);
    expect(found).toMatchObject([
      { line: 2, source: "secrets/github-token", severity: "critical", category: "security" },
    ]);
    expect(JSON.stringify(found)).not.toContain(gitHubToken);
    expect(JSON.stringify(found)).not.toContain(gitHubToken.slice(4, 16));
  });

  it("A private key is found at its first line", async () => {
    const { privateKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      privateKeyEncoding: { type: "pkcs1", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    });
    const found = await find("config/server.ts", `export const key = \`\n${privateKey}\`;\n`);
    expect(found).toMatchObject([{ line: 2, source: "secrets/private-key" }]);
    expect(JSON.stringify(found)).not.toContain(privateKey.split("\n")[3]);
    for (const path of ["test/fixtures/server.pem", "examples/tls/server.pem"])
      expect(await find(path, privateKey)).toMatchObject([{ line: 1, severity: "medium" }]);
  });

  it("A key is found if the change adds its body, and not if it is unchanged", async () => {
    const keyOf = () =>
      generateKeyPairSync("ec", {
        namedCurve: "P-256",
        privateKeyEncoding: { type: "pkcs8", format: "pem" },
        publicKeyEncoding: { type: "spki", format: "pem" },
      })
        .privateKey.trim()
        .split("\n");
    const [begin = "", ...body] = keyOf();
    const [end = "", added] = [body.pop(), body.map((line) => `+${line}`)];
    const rotated = ["-old", ...added].join("\n");
    const found = await analyzer.analyze(
      editedFile("config/key.pem", ` ${begin}\n${rotated}\n ${end}`),
      signal,
    );
    expect(found).toMatchObject([{ line: 2, source: "secrets/private-key" }]);

    const kept = [begin, ...body, end].map((line) => ` ${line}`).join("\n");
    expect(
      await analyzer.analyze(editedFile("config/key.pem", `${kept}\n+# The key of the server`), signal),
    ).toEqual([]);
  });

  it("A password in the address of a database is found", async () => {
    const found = await find("src/db.ts", 'const db = "postgresql://shop:Jq8hR2vT@db.shop.io:5432/shop";\n');
    expect(found).toMatchObject([{ line: 1, source: "secrets/url-with-a-password" }]);
    expect(JSON.stringify(found)).not.toContain("Jq8hR2vT");
  });

  it.each([
    ["a letter", `${awsKey}A`],
    ["a sign that no word ends with", `${awsKey}+`],
    ["a slash", `${awsKey}/`],
  ])("An AWS key that ends with %s is found, and none of another length", async (_, key) => {
    const assigned = [
      `AWS_SECRET_ACCESS_KEY=${key}`,
      `"secretAccessKey": '${key}',`,
      `aws-secret-access-key: ${key}`,
    ];
    for (const line of assigned)
      expect(await find("src/aws.py", `import os\n${line}\n`), line).toMatchObject([
        { line: 2, source: "secrets/aws-secret-access-key" },
      ]);
    for (const line of [`AWS_SECRET_ACCESS_KEY=${key}A`, `AWS_SECRET_ACCESS_KEY=${key.slice(1)}`])
      expect(await find("src/aws.py", `${line}\n`), line).toMatchObject([
        { severity: "high", source: "secret-values/assigned" },
      ]);
  });

  it("A token in documentation is found", async () => {
    expect(await find("docs/start.md", `export GITHUB_TOKEN=${gitHubToken}\n`)).toMatchObject([{ line: 1 }]);
  });

  it.each([
    ["a made-up password", 'const db = "postgresql://user:password@db.shop.io:5432/shop";'],
    ["a server on this machine", 'const db = "postgresql://shop:Jq8hR2vT@localhost:5432/shop";'],
    ["a service of a compose file", 'const db = "postgresql://shop:Jq8hR2vT@database:5432/shop";'],
    ["an example's host", 'const url = "https://joe:Jq8hR2vT@api.example.com/";'],
    ["a variable", "const db = `postgresql://\x24{user}:\x24{password}@db.shop.io/shop`;"],
    ["an AWS account number", 'const AWS_ACCOUNT_ID = "123456789012";'],
  ])("No secret is found in %s", async (_, line) => {
    expect(await find("src/db.ts", `${line}\n`)).toEqual([]);
  });

  it("Only secrets on added lines are found", async () => {
    const file = editedFile("a.ts", ` const old = "${gitHubToken}";\n+const next = 1;`);
    expect(await analyzer.analyze(file, signal)).toEqual([]);
  });

  it("A comment of the change switches no finding off", async () => {
    const text = `// gitleaks:allow\nconst token = "${gitHubToken}"; // nosec\n`;
    expect(await find("a.ts", text)).toMatchObject([{ line: 2 }]);
  });

  it("The key file of a cloud is found at the line that names the key", async () => {
    const { privateKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    });
    const text = JSON.stringify(
      { type: "service_account", private_key_id: "1", private_key: privateKey },
      null,
      2,
    );
    const found = await find("deploy/key.json", `${text}\n`);
    expect(found).toMatchObject([{ line: 4, source: "secrets/private-key" }]);
    expect(JSON.stringify(found)).not.toContain(privateKey.split("\n")[2]);
  });

  it("docs/analyzers.md names each kind of secret", () => {
    const page = readFileSync(new URL("../../../../docs/analyzers.md", import.meta.url), "utf8").replaceAll(
      "\n",
      " ",
    );
    expect(issuedKinds.filter((kind) => !page.includes(kind))).toEqual([]);
  });

  it("The analyzers run in a process without an environment", () => {
    const script = `import { analyzeFile, allAnalyzers } from "./src/tasks/rules/analyzers/analyze-change.ts";
      const file = (path, text) => ({ path, text, addedLines: new Set([1]), diff: { path, oldPath: null, header: [], hunks: [] } });
      const files = [file("a.ts", "const t = 'ghp_' + 1; if (t === NaN) stop();\\n"), file("a.py", "raise NotImplemented\\n"),
        file("a.go", "package a\\n"), file("A.java", 'class A { boolean f(String s) { return s == "x"; } }\\n')];
      const crashes = [];
      const options = { signal: new AbortController().signal, onCrash: (...crash) => crashes.push(String(crash)), analyzers: allAnalyzers };
      const found = [];
      for (const file of files) found.push(...(await analyzeFile(file, options)).diagnostics);
      process.stdout.write(JSON.stringify([found.map((one) => one.source), crashes]));`;
    const output = execFileSync(process.execPath, ["--input-type=module-typescript", "-e", script], {
      env: {},
      encoding: "utf8",
      cwd: new URL("../../../..", import.meta.url),
    });
    const rules = ["js-compare-nan", "py-raise-not-implemented", "java-string-identity"];
    expect(JSON.parse(output)).toEqual([rules.map((rule) => `ast-grep/${rule}`), []]);
  });
});
