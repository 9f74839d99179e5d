import { describe, expect, it } from "vitest";
import { formatMarker, parseMarker } from "../../../src/core/ledger/marker.ts";
import { registerSecret } from "../../../src/core/secrets/live-secrets.ts";
import { publicPlain, publicText } from "../../../src/pull/publish/public-text.ts";
import { liveInBody } from "../../support/markdown-oracle.ts";

const secret = "Kx7vQ2mZ9pLw4RtY8sBn3Fh6";
registerSecret(secret);
const form = `ghp_${"aB3".repeat(12)}`;
const [half, rest] = [secret.slice(0, 12), secret.slice(12)];
const marker = formatMarker({ kind: "fixed", comment: 5, head: "h" });
const live = (body: string) => liveInBody(body, { links: [] });

describe("A text without secrets", () => {
  it("A text without secrets stays as it was written", () => {
    const text = `**Fixed** in [\`a.ts\`](https://github.com/o/r):\n\n<details><summary>S</summary>\n\n- yes\n\n</details>\n\n${marker}`;
    expect(publicText(text)).toBe(text);
    expect(publicPlain("1 high @ a.ts [x]")).toBe("1 high @ a.ts [x]");
  });
});

describe("A text with a secret", () => {
  it("A text loses a value of ours, and a value in the form of a secret", () => {
    for (const make of [publicText, publicPlain]) {
      const text = make(`It is ${secret}, or ${form} it is`);
      expect(text).not.toContain(half);
      expect(text).not.toContain(form);
      expect(text).toMatch(/^It is .+, or .+ it is$/);
    }
  });

  it.each([
    ["the end of a fence", `\`\`\`\n${half}\n\`\`\`\n${rest}\n\nThe rest.`],
    [
      "the beginning of a fence",
      `${half}\n\`\`\`\n${rest}\n@eve [x](https://evil.test) <img src=x>\n/approve\n\`\`\``,
    ],
    ["the beginning of a code span", `${half} \`${rest} @eve [x](https://evil.test) <img src=x>\``],
    ["a mark that escaped", `${half} \\${rest}[x](https://evil.test)`],
  ])("A text has no effect if the secret takes %s with it", (_what, text) => {
    const body = publicText(`${text}\n\n${marker}`);
    expect(body).not.toContain(half);
    expect(live(body)).toEqual([]);
    expect(parseMarker(body)).toEqual({ kind: "fixed", comment: 5, head: "h" });
  });

  it("A text defines no link where a secret was before a colon", () => {
    const body = publicText(`${form} : no\n\n${secret}: //evil.test/x\n\n${secret}`);
    expect(live(body)).toEqual([]);
    expect(body).toContain("evil.test");
  });

  it("A text is clean also if writing it again would reveal a secret", () => {
    const escaped = [...secret].join("\\.");
    const text = publicText(`${secret} and ${escaped} and g\\-hp_${"x".repeat(40)}`);
    expect(text.replace(/[^a-z0-9]/gi, "")).not.toContain(half);
  });

  it("A text keeps its marker without the secret value", () => {
    const of = formatMarker({ kind: "dismissed", comment: 5, by: `a ${secret}` });
    const body = publicText(`Dismissed.\n\n${of}`);
    expect(body).not.toContain(half);
    expect(parseMarker(body)).toMatchObject({
      kind: "dismissed",
      comment: 5,
      by: expect.stringMatching(/^a ./),
    });
  });

  it("A text loses its marker if the secret reaches over several values", () => {
    const of = formatMarker({
      ...{ kind: "finding", id: "f1", severity: "low", category: null, symbol: null, code: null },
      source: "model",
      ...{ files: secret.match(/.../g) ?? [], head: "h", trigger: "t" },
    });
    expect(publicText(`Wrong.\n\n${of}`)).toBe("Wrong.");
  });
});
