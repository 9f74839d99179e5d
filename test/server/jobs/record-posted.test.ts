import { expect, it } from "vitest";
import type { TrajectoryEntry } from "../../../src/agent/record/trajectory.ts";
import { recordPosted } from "../../../src/server/jobs/attempts.ts";
import { MemoryGitHub } from "../../pull/publish/memory-github.ts";
import { many, onFile, publish } from "../../pull/publish/publish-to-memory.ts";
import { sampleResult } from "../../report/sample-result.ts";

const findings = [...many(2), ...onFile(1)];

async function published(): Promise<MemoryGitHub> {
  const github = new MemoryGitHub();
  await publish(github, findings);
  return github;
}

async function recordedOf(github: MemoryGitHub, result = sampleResult({ findings })) {
  const entries: TrajectoryEntry[] = [];
  const tools = { record: async (entry: TrajectoryEntry) => void entries.push(entry) };
  const note = () => recordPosted(github, result, [...entries], tools);
  await note();
  return { entries, note };
}

it("What goes on record of comments that were posted is which comment holds which finding, with GitHub's id and its page", async () => {
  const github = await published();
  const { entries } = await recordedOf(github);
  const [first, second] = github.reviews[0]?.comments ?? [];
  expect(entries).toEqual([
    {
      kind: "posted",
      comments: [first, second, github.fileComments[0]].map((comment, index) => ({
        finding: findings[index]?.finding.id,
        id: comment?.id,
        url: expect.stringContaining(String(comment?.id)),
      })),
    },
  ]);
});

it("What goes on record of comments that were posted is noted down once, however often the same review is published", async () => {
  const { entries, note } = await recordedOf(await published());
  await note();
  expect(entries).toHaveLength(1);
});

it("What goes on record of comments that were posted is nothing of what another review posted", async () => {
  const github = await published();
  const other = sampleResult({ findings, head_sha: "c".repeat(40) });
  expect((await recordedOf(github, other)).entries).toEqual([]);
  const none = sampleResult({ findings: many(1, { path: "src/other.ts" }) });
  expect((await recordedOf(github, none)).entries).toEqual([]);
});
