import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { registerSecret } from "../../../src/core/secrets/live-secrets.ts";
import { redactLines, redactStrings, redactText, withoutSecrets } from "../../../src/core/secrets/redact.ts";
import { plantedSecrets, writeOut } from "../../support/secret-corpus.ts";
import { seeded } from "../../support/seeded.ts";

const random = seeded(11);
const gitHubToken = writeOut("ghp_{base62:36}", random);
const live = writeOut("{hex:48}", random);
registerSecret(live);

describe("a secret that shows by its form", () => {
  it("A secret that shows by its form is taken out of a line of JSON", () => {
    for (const before of ["\n", "\t", "\r\n", "\u001b[31m", '"', "\\", "a\\n"]) {
      const line = JSON.stringify({ message: `${before}${gitHubToken} ${before}` });
      const clean = withoutSecrets(line);
      expect(clean, line).not.toContain(gitHubToken);
      expect(JSON.parse(clean)).toEqual({ message: `${before}[secret] ${before}` });
    }
  });

  it("A secret that shows by its form leaves JSON, whatever the secret is and wherever it stands", () => {
    const texts = plantedSecrets(3).map(({ text }) => text);
    const strings = fc.tuple(fc.constantFrom(...texts), fc.string({ unit: "binary-ascii" }), fc.string());
    fc.assert(
      fc.property(strings, ([text, before, after]) => {
        const line = JSON.stringify({ a: `${before}${text}${after}`, b: { c: [text] } });
        expect(Object.keys(JSON.parse(withoutSecrets(line)))).toEqual(["a", "b"]);
      }),
      { seed: 11, numRuns: 400 },
    );
  });

  it("A secret that shows by its form is not looked for twice", () => {
    for (const { text } of plantedSecrets(4)) {
      const clean = withoutSecrets(text);
      expect(withoutSecrets(clean)).toBe(clean);
    }
  });
});

describe("a value given to a token or a key", () => {
  it.each([
    ["a member", "apiKey: env.S3_KEY_V2,"],
    ["a constant", "auth_key = AUTH_KEY_V2_X1"],
    ["the name of a variable", '"apiKey": "S3_API_KEY_V2",'],
    ["a page", 'nextPageToken: "page-2-of-17-v3",'],
    ["a path", "secretKey: k8s/ns1/secretRef2"],
    ["a way to encrypt", "encryption_key: aes-256-gcm-v2"],
    ["the address of a coin", 'const token = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";'],
    ["a key that is public", "publicToken = pk_test_TYooMQauvdEDq54NiTphI7jx"],
  ])("A value given to a token or a key stays where it is %s", (_what, line) => {
    expect(withoutSecrets(line)).toBe(line);
  });

  it.each([
    "apiKey: 'q7-Zk_39xPv-Lm2wRt'",
    'token = "550e8400-e29b-41d4-a716-446655440000"',
    'private_key: "0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"',
  ])("A value given to a token or a key is taken out where it is random: %s", (line) => {
    expect(withoutSecrets(line)).toContain("[secret]");
  });
});

describe("a long text", () => {
  const filler = "Some words about nothing, with `code(1)` among them.\n";

  it("A long text is redacted at every place of it, also where its pieces meet", async () => {
    const places = [0, 16_000, 16_380, 30_000, 65_500, 120_000, 199_000];
    const long = filler.repeat(4_000);
    const tokens = places.map(() => writeOut("glpat-{base62:20}", random));
    let text = "";
    for (const [index, place] of places.entries())
      text += `${long.slice(text.length, place)} ${tokens[index]} `;
    const clean = await redactText(`${text}${filler}`);
    expect(tokens.filter((token) => clean.includes(token))).toEqual([]);
    expect(clean.replaceAll("[secret]", "").length).toBe(
      text.length + filler.length - tokens.join("").length,
    );
  });

  it("A long text is redacted of a registered secret wherever its pieces meet", async () => {
    // Too short to be found in parts.
    const short = writeOut("{base62:20}", random);
    registerSecret(short);
    const long = filler.repeat(2_600);
    for (const boundary of [65_536, 57_344, 72_000, 131_072])
      for (const back of [0, 1, Math.floor(short.length / 2), short.length - 1, short.length]) {
        const clean = await redactText(`${long.slice(0, boundary - back - 1)} ${short} ${filler}`);
        expect(clean.includes(short), `${back} before ${boundary}`).toBe(false);
      }
  });

  it("A long text does not hold up other work while it is looked at", async () => {
    const order: string[] = [];
    const redacting = redactText(`${filler.repeat(8_000)}${live}`).then((clean) => {
      order.push("redacted");
      return clean;
    });
    setImmediate(() => order.push("other work"));
    expect(await redacting).not.toContain(live);
    expect(order).toEqual(["other work", "redacted"]);
  });
});

describe("text that only looks like a secret", () => {
  it.each([
    ["a placeholder as password", "https://deploy:changeme@git.corp.net/app.git"],
    ["a machine that others cannot reach", "postgres://app:q8Zr4TnL2w@localhost/shop"],
    ["a placeholder", "SLACK=xoxb-123456789012-1234567890123-xxxxxxxxxxxxxxxxxxxxxxxx"],
  ])("Text that only looks like a secret stays where it is %s", async (_, text) => {
    const plain = text.replace("q8Zr4TnL2w", "correct-horse");
    expect(await redactText(plain)).toBe(plain);
  });

  it("A key is taken out of a cloud's key file without the rest", async () => {
    const key = writeOut("{pem:PRIVATE KEY:700}", random);
    const file = {
      ...{ type: "service_account", project_id: "shop-1", private_key_id: "17" },
      ...{ private_key: key, client_email: "app@shop-1.iam.gserviceaccount.com", client_id: "123" },
    };
    const clean = await redactText(JSON.stringify(file, null, 2));
    expect(JSON.parse(clean)).toEqual({ ...file, private_key: expect.stringMatching(/^\[secret\](\n)?$/) });
  });
});

describe("lines of a file", () => {
  it("Lines of a file stay where they are, also those of a key", async () => {
    const key = writeOut("{pem:RSA PRIVATE KEY:300}", random).trimEnd();
    const lines = ["const key = `", ...key.split("\n"), "`;", `token(${gitHubToken});`];
    const clean = (await redactLines(lines.join("\n"))).split("\n");
    expect(clean).toHaveLength(lines.length);
    expect([clean[0], ...clean.slice(-3)]).toEqual([
      ...["const key = `", "-----END RSA PRIVATE KEY-----", "`;", "token([secret]);"],
    ]);
    expect(new Set(clean.slice(2, -3))).toEqual(new Set(["[secret]"]));
  });
});

describe("a structure", () => {
  it("A structure has every string of it redacted, but what must stay as it is", async () => {
    const value = {
      path: `src/${live}.ts`,
      hashes: [live],
      title: `It is ${live}`,
      inner: { note: [gitHubToken, 1, null, true], path: { text: live } },
    };
    expect(await redactStrings(value, new Set(["path", "hashes"]))).toEqual({
      path: `src/${live}.ts`,
      hashes: [live],
      title: "It is [secret]",
      inner: { note: ["[secret]", 1, null, true], path: { text: "[secret]" } },
    });
  });

  it("A structure keeps below such a key only texts and lists of texts", async () => {
    const value = { path: [live, 1], paths: [live], inner: { path: [[live]] } };
    expect(await redactStrings(value, new Set(["path", "paths"]))).toEqual({
      ...{ path: ["[secret]", 1], paths: [live], inner: { path: [["[secret]"]] } },
    });
  });

  it("A structure is found the password of an address in, even one of words", async () => {
    const url = `https://deploy:${"correct-horse"}@git.corp.net/app.git`;
    expect(await redactText(url)).not.toContain("correct-horse");
  });
});
