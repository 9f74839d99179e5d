import { type AppUnderTest, startApp } from "../../test/support/app-under-test.ts";
import { claimsIn } from "../../test/support/claims.ts";
import type { ChatRequestBody, FakeTurn } from "../../test/support/fake-openai.ts";
import type { Pull } from "../../test/support/github-double/model.ts";
import { writePermissions } from "../../test/support/github-double/scenario.ts";
import { startDemo } from "../demo-run.ts";

/** A reviewed pull request, and how many folded texts its picture shows open. */
export interface Scene extends AsyncDisposable {
  pull: Pull;
  unfolded: number;
}

/** The posts of `npm run demo`: only the analyzers. */
async function demo(): Promise<Scene> {
  const run = await startDemo();
  const status = await run.deliverOpened();
  if (status !== 202) throw new Error(`The webhook was answered with ${status}:\n${run.server.log()}`);
  await run.reviewed();
  return { pull: run.scenario.pull, unfolded: 0, [Symbol.asyncDispose]: () => run[Symbol.asyncDispose]() };
}

const cart = `import { priceOf } from "./prices.ts";

export interface Line {
  product: string;
  count: number;
}

export function total(lines: Line[]): number {
  let sum = 0;
  for (const { product, count } of lines) {
    sum += priceOf(product) * count;
  }
  return sum;
}
`;
const discounted = cart.replace(
  "  return sum;\n",
  "  return sum;\n}\n\n/** In cents, after a discount in per cent. */\nexport function discounted(lines: Line[], percent: number): number {\n  return total(lines) - total(lines) * percent;\n",
);
const prices = `const prices = new Map([["pen", 150], ["paper", 420]]);

/** In cents. */
export function priceOf(product: string): number {
  return prices.get(product) ?? 0;
}
`;
const voucher = `import { type Line, total } from "./cart.ts";

/** What a voucher takes off, in cents. */
export function worth(lines: Line[], percent: number): number {
  return total(lines) * percent;
}
`;
const lockFile = (version: string) =>
  `{ "lockfileVersion": 3, "packages": { "": { "version": "${version}" } } }\n`;

/** A finding of the model, and its answer when it must refute the finding. */
interface Reported {
  finding: Record<string, unknown> & { title: string };
  verdict: Record<string, unknown>;
}

/** The real App with a scripted model, so that the picture is the same every time. */
async function reviewed(reported: readonly Reported[]): Promise<AppUnderTest> {
  const app = await startApp({
    repository: "octo-org/shop",
    base: { "src/cart.ts": cart, "src/prices.ts": prices, "package-lock.json": lockFile("1.0.0") },
    head: {
      ...{ "src/cart.ts": discounted, "src/voucher.ts": voucher },
      "package-lock.json": lockFile("1.1.0"),
    },
    title: "Discounts for the cart",
    body: "A discount in per cent on the total of a cart.",
    everyRole: (body) => answer(body, reported),
    env: { HUNKWISE_MODEL: "scripted-model" },
    // With these, the App may resolve threads.
    permissions: writePermissions,
  });
  await app.send("opened");
  await app.concluded();
  return app;
}

async function scripted(reported: readonly Reported[], unfolded: number): Promise<Scene> {
  const app = await reviewed(reported);
  return { pull: app.pull, unfolded, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

/** A second round: a person has dismissed one finding, a push has fixed another one, and someone asks a question. */
async function again(): Promise<Scene> {
  const app = await reviewed([percent, twice, unknown, empty]);
  const threadOf = ({ finding }: Reported) => {
    const thread = app.pull.reviewComments.find(({ body }) => body.includes(finding.title));
    if (!thread) throw new Error(`There is no comment: ${finding.title}`);
    return thread;
  };
  await app.reply(threadOf(twice), "octocat", "This is intended.");
  app.people.push(app.pull, { "src/cart.ts": discounted.replace("* percent", "* (percent / 100)") });
  await app.send("synchronize");
  await app.concluded();
  await app.comment("octocat", "@hunkwise ask Is the total rounded?");
  await app.github.until(() => app.pull.comments.at(-1)?.via === app.app, 60_000);
  return { pull: app.pull, unfolded: 0, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

function answer({ messages, tools = [] }: ChatRequestBody, reported: readonly Reported[]): FakeTurn {
  const offered = tools.map((tool) => tool.function.name);
  const claims = claimsIn(messages);
  if (claims.length > 0) {
    const tool_calls = claims.map(({ claim, text }) => {
      const claimed = reported.find(({ finding }) => text.includes(String(finding.title)));
      return { name: "report_verdict", arguments: { ...claimed?.verdict, claim } };
    });
    return { tool_calls };
  }
  if (offered.includes("report_resolution")) {
    const reason = "the discount divides by 100 now (src/cart.ts:18).";
    return { tool_calls: [{ name: "report_resolution", arguments: { state: "fixed", reason } }] };
  }
  if (offered.includes("reply")) return { tool_calls: [{ name: "reply", arguments: { text: rounding } }] };
  if (JSON.stringify(messages).includes("percent / 100")) return { tool_calls: [finish] };
  const calls = reported.map(({ finding }) => ({ name: "report_finding", arguments: finding }));
  return { tool_calls: [...(offered.includes("join_findings") ? [] : calls), finish] };
}

const rounding =
  "No. `total` adds whole cents (`src/cart.ts:9`), and `discounted` multiplies them by a fraction, so its result may be a fraction of a cent.";

const finish = {
  name: "finish_review",
  arguments: {
    summary:
      "Adds a discount in per cent to the total of a cart. Prices and the total itself stay as they are.",
  },
};

const quoted = "  return total(lines) * percent;";

const percent: Reported = {
  finding: {
    ...{ path: "src/cart.ts", line: 18, severity: "high", category: "correctness", confidence: 0.95 },
    quote: "  return total(lines) - total(lines) * percent;",
    title: "A discount of 10 % makes the total negative",
    body: "`percent` is in per cent, as the comment above says, and is used as a fraction. Every call with a discount above 1 is wrong.",
    suggestion: "  return total(lines) * (1 - percent / 100);",
    evidence: [
      { path: "src/cart.ts", start_line: 16, end_line: 17, note: "the unit is documented as per cent" },
      { path: "src/prices.ts", start_line: 3, end_line: 6, note: "prices are whole cents" },
    ],
  },
  verdict: {
    ...{ verdict: "confirmed", severity: "high", reason: "total() is in cents, so 1000 - 1000 * 10." },
    failing_input: "`percent` is 10 and the cart costs 1,000 cents: the result is -9,000.",
    places: [{ path: "src/voucher.ts", line: 5, quote: quoted }],
  },
};
const twice: Reported = {
  finding: {
    ...{ path: "src/voucher.ts", line: 5, severity: "high", category: "data", confidence: 0.4 },
    quote: quoted,
    title: "A voucher can be redeemed twice",
    body: "Nothing says that a voucher was used, so the same one takes its part off every cart.",
  },
  verdict: {
    ...{ verdict: "uncertain", severity: "high" },
    reason:
      "Nothing in this repository calls `worth`; whether its callers remember used vouchers stays open.",
  },
};
const unknown: Reported = {
  finding: {
    ...{ path: "src/prices.ts", line: 5, severity: "low", category: "error-handling", confidence: 0.7 },
    quote: "  return prices.get(product) ?? 0;",
    title: "A product without a price is free",
    body: "A discount on an unknown product is now shown as a bargain. Throw for products that have no price.",
  },
  verdict: {
    ...{ verdict: "confirmed", severity: "low", reason: "priceOf() answers 0 for them." },
    failing_input: "A cart holds a product that has no price.",
  },
};
const empty: Reported = {
  finding: {
    ...{ path: "src/cart.ts", line: 18, severity: "medium", category: "correctness", confidence: 0.5 },
    quote: "  return total(lines) - total(lines) * percent;",
    title: "The total of an empty cart is not a number",
    body: "Without lines there is nothing to add up.",
  },
  verdict: {
    ...{ verdict: "refuted", severity: "low" },
    reason: "`sum` begins at 0, and no line leaves it there (src/cart.ts:9).",
    evidence: [{ path: "src/cart.ts", start_line: 9, end_line: 9, note: "begins at 0" }],
  },
};

/** The scenes by their command-line name. */
export const scenes: Record<string, () => Promise<Scene>> = {
  demo,
  review: () => scripted([percent, twice, unknown, empty], 1),
  clean: () => scripted([], 0),
  again,
};
