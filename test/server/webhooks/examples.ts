import { createRequire } from "node:module";

export interface Example {
  event: string;
  number: number;
  payload: Record<string, unknown>;
}

/** The example payloads that GitHub's own SDK team collects; the package has no ES module entry. */
const webhooks = createRequire(import.meta.url)("@octokit/webhooks-examples") as {
  name: string;
  examples: Record<string, unknown>[];
}[];

export const examples: Example[] = webhooks.flatMap(({ name, examples: payloads }) =>
  payloads.map((payload, number) => ({ event: name, number, payload })),
);
