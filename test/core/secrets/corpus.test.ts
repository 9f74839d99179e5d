import { describe, expect, it } from "vitest";
import { secretFormsIn } from "../../../src/core/secrets/forms.ts";
import { redactText } from "../../../src/core/secrets/redact.ts";
import { inSyntaxes, lookAlikes, plantedSecrets } from "../../support/secret-corpus.ts";

/** Twelve characters of a secret in a row, or all of a shorter one, are too many. */
function leaks(secret: string, clean: string): boolean {
  const size = Math.min(12, secret.length);
  for (let at = 0; at + size <= secret.length; at++) {
    if (clean.includes(secret.slice(at, at + size))) return true;
  }
  return false;
}

interface Trial {
  kind: string;
  text: string;
  passed: boolean;
}

/** Prints how many of each kind passed, and gives back the share of all and of each kind. */
function figures(title: string, trials: Trial[]) {
  const kinds = Map.groupBy(trials, ({ kind }) => kind);
  const share = (some: Trial[]) => some.filter(({ passed }) => passed).length / some.length;
  const rows = [...kinds].map(([kind, some]) => {
    const passed = some.filter((trial) => trial.passed).length;
    return `  ${`${passed}/${some.length}`.padStart(7)}  ${kind}`;
  });
  const all = `${title}: ${(share(trials) * 100).toFixed(1)} % of ${trials.length} in ${kinds.size} kinds`;
  console.log([all, ...rows].join("\n"));
  return { all: share(trials), byKind: new Map([...kinds].map(([kind, some]) => [kind, share(some)])) };
}

describe("the corpus of secrets", () => {
  it("The corpus of secrets is redacted from what a model writes", async () => {
    const planted = plantedSecrets(1);
    expect(new Set(planted.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(40);
    const trials: Trial[] = [];
    for (const { kind, text, secret } of planted) {
      const clean = await redactText(text);
      trials.push({ kind, text, passed: !leaks(secret, clean) });
    }
    for (const t of trials.filter((x) => !x.passed)) console.log(t.kind, "::", t.text.slice(0, 200));
    const { all, byKind } = figures("redacted", trials);
    expect(all).toBeGreaterThanOrEqual(0.95);
    expect([...byKind].filter(([, share]) => share < 0.6)).toEqual([]);
  });

  it("The corpus of secrets keeps what only looks like one: 95 % of the look-alikes or more", async () => {
    const trials: Trial[] = [];
    for (const { kind, text } of lookAlikes(2)) {
      trials.push({ kind, text, passed: (await redactText(text)) === text });
    }
    for (const t of trials.filter((x) => !x.passed)) console.log(t.kind, "::", t.text.slice(0, 200));
    const { all, byKind } = figures("kept", trials);
    expect(all).toBeGreaterThanOrEqual(0.95);
    expect([...byKind].filter(([, share]) => share < 0.6)).toEqual([]);
  });

  it("The corpus of secrets is found in fourteen syntaxes: 98 % of the secrets or more", () => {
    const { secrets, others } = inSyntaxes(3);
    expect([secrets.length, others.length]).toEqual([350, 350]);
    const isFound = (text: string, value: string) =>
      secretFormsIn(text).some(({ start, end }) => text.slice(start, end).includes(value));
    const missed = secrets.filter(({ text, secret }) => !isFound(text, secret));
    const wrong = others.filter(({ text }) => secretFormsIn(text).length > 0);
    for (const { kind, text } of [...missed, ...wrong]) console.log(kind, "::", text);
    expect(missed.length).toBeLessThanOrEqual(7);
    expect(wrong.length).toBeLessThanOrEqual(3);
  });
});
