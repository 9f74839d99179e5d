import { describe, expect, it } from "vitest";
import { checkEmbedding, checks } from "../../../src/cli/commands/doctor.ts";
import { readEnv } from "../../../src/config/env.ts";
import { canFindByMeaning } from "../../../src/repo/index/vectors.ts";
import { type FakeEmbeddingsOptions, startFakeEmbeddings } from "../../support/fake-embeddings.ts";

const never = new AbortController().signal;

async function check(server: FakeEmbeddingsOptions = {}, key = "test-key") {
  await using endpoint = await startFakeEmbeddings(server);
  const raw = { HUNKWISE_EMBEDDING_MODEL: "small", HUNKWISE_EMBEDDING_API_KEY: key };
  const { embedding } = readEnv({ ...raw, HUNKWISE_EMBEDDING_BASE_URL: endpoint.url });
  return { diagnosis: await checkEmbedding({ embedding }, never), requests: endpoint.requests };
}

const isThere = canFindByMeaning();
if (!isThere) console.warn("NOT TESTED: what doctor says of vectors, for sqlite-vec cannot be loaded here");

describe.skipIf(!isThere)("The doctor's check of vectors", () => {
  it("Doctor names the size of a vector that it requested", async () => {
    const { diagnosis, requests } = await check({ dimensions: 1_536 });
    expect(diagnosis).toMatchObject({ state: "ok", remedy: null });
    expect(diagnosis.says).toMatch(/^small makes vectors of 1,536 numbers, in /);
    expect(requests.map(({ body }) => body.input)).toEqual([[expect.any(String)]]);
  });

  it("Doctor fails with a remedy if the endpoint refuses, after one try and without the key", async () => {
    const { diagnosis, requests } = await check({}, "a-wrong-key-of-someone");
    expect(diagnosis).toMatchObject({ state: "fail", remedy: expect.stringContaining("HUNKWISE_EMBEDDING") });
    expect(diagnosis.says).not.toContain("a-wrong-key");
    expect(requests).toHaveLength(1);
  });

  it("Doctor finds no fault if no embedding model is named", async () => {
    const vectors = checks.find(({ name }) => name === "vectors");
    const diagnosis = await vectors?.run({ env: readEnv({}), faults: [] }, never);
    expect(diagnosis).toMatchObject({ state: "ok", says: expect.stringContaining("only by words") });
  });
});
