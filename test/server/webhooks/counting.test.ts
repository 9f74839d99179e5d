import { expect, it } from "vitest";
import { deliveryHeaders, startTestServer } from "./support.ts";

it("Every delivery is counted by its result and a known event", async () => {
  const seen: string[] = [];
  const server = await startTestServer({
    onDelivery: (event, result) => void seen.push(`${event} ${result}`),
  });
  const post = async (event: string, body: string, changes = {}) => {
    const headers = deliveryHeaders(body, event, "one-id", changes);
    await (await fetch(server.endpoint, { method: "POST", body, headers })).text();
  };
  const opened = JSON.stringify({
    ...{ action: "opened", installation: { id: 3 } },
    repository: { id: 7, name: "shop", owner: { login: "octo" } },
    pull_request: { number: 1, head: { sha: "a".repeat(40) } },
  });
  await post("pull_request", opened);
  await post("pull_request", opened);
  await post("ping", "{}");
  await post("pull_request", opened, { "x-hub-signature-256": undefined });
  await post("a_strangers_word", "{}");
  await server.queue.close();
  await post("pull_request", opened);
  await server.close();
  expect(seen).toEqual([
    "pull_request stored",
    "pull_request duplicate",
    "ping ignored",
    "pull_request refused",
    "other ignored",
    "pull_request refused",
  ]);
});
