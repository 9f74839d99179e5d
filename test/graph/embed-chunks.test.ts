import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chunksToSend } from "../../src/graph/embed-chunks.ts";
import { Masks } from "../../src/secrets/masks.ts";

async function chunksOf(text: string) {
  const masks = new Masks();
  return chunksToSend(await masks.learn(text), masks);
}

describe("the parts of a file that get a vector each", () => {
  it("hold each line that has a word, in order, none of them twice, and are short enough for any model", async () => {
    const line = fc.oneof(
      fc.constant(""),
      fc.stringMatching(/^[a-z]{2,8}( = [a-z]{2,8}){0,9}$/),
      fc.constant("x".repeat(2_000)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 200 }), async (lines) => {
        const chunks = await chunksOf(lines.join("\n"));
        let last = 0;
        for (const { startLine, endLine, text } of chunks) {
          expect(startLine).toBeGreaterThan(last);
          expect(text.length).toBeLessThanOrEqual(1_800);
          const own = lines.slice(startLine - 1, endLine).map((one) => one.slice(0, 400));
          expect(text).toBe(own.join("\n"));
          last = endLine;
        }
        const inChunks = chunks.reduce((sum, { text }) => sum + text.split("\n").filter(Boolean).length, 0);
        expect(inChunks).toBe(lines.filter(Boolean).length);
      }),
      { numRuns: 60 },
    );
  });

  it("end where something new begins", async () => {
    const body = "  const value = compute();\n".repeat(26);
    const text = ["one", "two", "three"].map((name) => `function ${name}() {\n${body}}\n`).join("\n");

    const chunks = await chunksOf(text);

    expect(chunks.map(({ text: own }) => own.split("\n")[0])).toEqual([
      "function one() {",
      "function two() {",
      "function three() {",
    ]);
  });

  it("are none of what has no words", async () => {
    expect(await chunksOf("")).toEqual([]);
    expect(await chunksOf("{}\n\n1, 2, 3\n")).toEqual([]);
  });

  it("keep the lines of what stands behind a private key, which takes several", async () => {
    const line = `${"MIIEowIBAAKCAQEA7xk9Q2".repeat(2)}xyz`;
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${`${line}\n`.repeat(6)}-----END RSA PRIVATE KEY-----`;
    const text = `const key = \`${key}\`;\nconst other = 1;\n`;
    expect(await chunksOf(text)).toEqual([
      { startLine: 1, endLine: 9, text: text.replaceAll(line, "[secret]").trim() },
    ]);
  });

  it("hold no secret that another file gave away", async () => {
    const masks = new Masks();
    await masks.learn('client_secret = "vK3qP9zXw2LmN8rT"');
    const [chunk] = chunksToSend(await masks.learn("call with vK3qP9zXw2LmN8rT in the header"), masks);
    expect(chunk?.text).toBe("call with [secret] in the header");
  });

  it("keep the lines of what stands behind a secret on one line", async () => {
    const chunks = await chunksOf(`const key = "ghp_${"a1B2c3D4e5F6".repeat(3)}";\n\nconst other = 1;\n`);
    expect(chunks).toEqual([
      { startLine: 1, endLine: 3, text: 'const key = "[secret]";\n\nconst other = 1;' },
    ]);
  });
});
