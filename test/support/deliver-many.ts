import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/*
 * Posts webhooks from a separate process, so that other work of a test cannot make the server look slow: node deliver-many.ts URL FILE
 * MILLISECONDS. The file holds a list of { headers, body }; they are sent in order, spread evenly over the time, without waiting for each
 * other. Prints a list of { status, ms }.
 */

interface Posted {
  status: number;
  ms: number;
}

const [, , url = "", file = "", within = "0"] = process.argv;
const all: { headers: Record<string, string>; body: string }[] = JSON.parse(readFileSync(file, "utf8"));
const gap = Number(within) / all.length;
const began = performance.now();

const posted = all.map(async ({ headers, body }, n): Promise<Posted> => {
  await sleep(n * gap - (performance.now() - began));
  const sent = performance.now();
  const answer = await fetch(url, { method: "POST", headers, body }).catch(() => undefined);
  await answer?.arrayBuffer();
  return { status: answer?.status ?? 0, ms: performance.now() - sent };
});
process.stdout.write(JSON.stringify(await Promise.all(posted)));
