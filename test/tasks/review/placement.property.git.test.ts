import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ReportAnswer, ReportedFinding } from "../../../src/agent/tools/tool.ts";
import type { Finding, Side } from "../../../src/core/finding.ts";
import { emptyState } from "../../../src/core/ledger/state.ts";
import { planPublication } from "../../../src/pull/publish/publication.ts";
import type { Workspace } from "../../../src/repo/git/workspace.ts";
import { createAnchorFiles } from "../../../src/tasks/anchor/anchor.ts";
import { placeFinding } from "../../../src/tasks/anchor/placement.ts";
import { createFindingCollector } from "../../../src/tasks/review/find/finding-collector.ts";
import type { PlacedFinding } from "../../../src/tasks/shapes/review-result.ts";
import { openRepository, toolsOn } from "../../agent/tools/context.ts";
import { sampleResult } from "../../report/sample-result.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { clientOf } from "../../support/github-double/client.ts";
import { type DiffedFile, findLine } from "../../support/github-double/commentable.ts";
import { People } from "../../support/github-double/people.ts";
import { type GitHubDouble, startGitHubDouble } from "../../support/github-double.ts";
import { buildRepository } from "../../support/hostile-repository.ts";
import { repositorySpec } from "../../support/repo-arbitrary.ts";
import { readSources, type Source, squeezed } from "./change-sources.ts";
import { type Aim, aims, type Shot, shoot } from "./generated-aim.ts";
import { commitsOf, editedFiles, generatedFiles, PREAMBLE_LINES, unrelated } from "./generated-change.ts";

const long = process.env.HUNKWISE_LONG === "1";
const runs = (numRuns: number) => ({
  numRuns: long ? numRuns * 32 : numRuns,
  ...(long ? {} : { seed: 20_260_101 }),
  // Each smaller case would take a repository of its own: what is printed leads back to the failure.
  endOnFailure: true,
});

let github: GitHubDouble;
beforeAll(async () => {
  github = await startGitHubDouble();
});
afterAll(async () => {
  expect(github.violations).toEqual([]);
  await github.close();
});

/** A report port of a review, and where its findings are placed. */
function reviewOf(workspace: Workspace, keptLines?: number) {
  const anchorFile = createAnchorFiles(workspace, toolsOn(workspace).context.diffs, keptLines);
  const start = () =>
    createFindingCollector({
      anchorFile,
      refuseToFinish: () => null,
      minimumSeverity: "low",
      isPrivate: () => false,
      onFinding: () => {},
    });
  const place = async (finding: Finding) => placeFinding(finding, (await anchorFile(finding.path))!);
  return {
    async all(reports: readonly ReportedFinding[]) {
      const collector = start();
      const answers: ReportAnswer[] = [];
      for (const reported of reports) answers.push(await collector.report(reported));
      return { answers, placed: await Promise.all(collector.findings().map(place)) };
    },
    /** One finding in a review of its own; undefined when it was refused. */
    async one(reported: ReportedFinding): Promise<PlacedFinding | undefined> {
      const answer = await start().report(reported);
      return answer.ok && answer.finding ? place(answer.finding) : undefined;
    },
  };
}

/** Whether GitHub shows every line of the finding, in one hunk of that side, by the double's reading of the diff. */
function isShown({ side, line, start_line }: Finding, file: DiffedFile | undefined): boolean {
  if (!file || file.tooLarge) return false;
  const numbers = Array.from({ length: line - (start_line ?? line) + 1 }, (_, index) => line - index);
  const hunks = new Set(numbers.map((number) => findLine(file, side, number)?.hunk));
  return hunks.size === 1 && !hunks.has(undefined);
}

/** Whether a line of a file holds what was quoted. */
const holds = (line: string, text: string) =>
  squeezed(text) !== "" && squeezed(line).includes(squeezed(text));

const linesOf = ({ side, line, start_line }: Finding, { lines }: Source) =>
  (lines[side] ?? []).slice((start_line ?? line) - 1, line);

function expectPlacement({ finding, placement }: PlacedFinding, { isFile, diff, lines }: Source): void {
  // Of links and submodules nobody is shown a diff.
  const kind = isFile && isShown(finding, diff) ? "inline" : diff ? "file" : "summary";
  expect(placement.kind).toBe(kind);
  expect(finding.start_line ?? 0).toBeLessThan(finding.line);
  expect(finding.line).toBeLessThanOrEqual(lines[finding.side]?.length ?? 0);
  if (finding.suggestion !== null) expect(finding.side).toBe("RIGHT");
}

/** The quoted code stands on the anchored lines, and where quote and number agree nothing moves. */
function expectAnchor({ finding }: PlacedFinding, { aim, reported, truth }: Shot & { truth: object }): void {
  expect(finding.path).toBe(truth.source.path);
  const lines = linesOf(finding, truth.source);
  const quoted = lines.filter((line) => truth.texts.some((text) => holds(line, text)));
  expect(quoted, JSON.stringify({ reported, finding }, null, 1)).not.toEqual([]);
  expect(finding.quote).toBe(lines.join("\n"));
  const rows = truth.source.diff?.hunks.flatMap((hunk) => hunk.rows) ?? [];
  const isRemoved = (line: number) => rows.some((row) => row.LEFT === line && row.RIGHT === null);
  const [first, last] = [finding.start_line ?? finding.line, finding.line];
  if (truth.texts.length > 1) return;
  // A single line that both sides have belongs on RIGHT.
  if (finding.side === "LEFT" && truth.source.isFile && truth.source.lines.RIGHT)
    expect(lines.some((_, index) => isRemoved(first + index))).toBe(true);
  const agrees = aim.off === 0 && !aim.otherSide && aim.source !== "rows";
  if (!agrees || (truth.side === "LEFT" && !isRemoved(truth.start))) return;
  // Of a range that leaves its hunk a part is kept, and its quote may stand in it several times.
  const least = reported.start_line === null ? reported.line : reported.start_line;
  expect(finding.side).toBe(truth.side);
  expect(first).toBeGreaterThanOrEqual(least);
  expect(last).toBeGreaterThanOrEqual(least);
  expect(last).toBeLessThanOrEqual(reported.line);
}

function expectFinding(shot: Shot, answer: ReportAnswer, placed: readonly PlacedFinding[]): void {
  const { truth, reported } = shot;
  const expected = truth ? { ok: true } : { ok: false, reason: expect.stringMatching(/./) };
  expect(answer, JSON.stringify({ reported, answer }, null, 1)).toMatchObject(expected);
  const kept = answer.ok ? answer.finding : null;
  const places = placed.filter(({ finding }) => finding.id === kept?.id);
  expect(places).toHaveLength(truth ? 1 : 0);
  for (const place of places) {
    expectPlacement(place, truth!.source);
    expectAnchor(place, { ...shot, truth: truth! });
  }
}

/** Posts them as one review: GitHub takes all or nothing. */
async function post(placed: readonly PlacedFinding[], repo: GitRepo, branch: string): Promise<number> {
  const name = `repository-${github.state.repositories.size}`;
  const repository = github.state.addRepository({ owner: "octo-org", name, git: repo });
  const pull = new People(github).openPullOfBranch(repository, branch, { title: "It", author: "octocat" });
  const permissions = { metadata: "read", pull_requests: "write" } as const;
  const app = github.state.addApp({ slug: name, owner: "octocat", publicKey: "", permissions });
  const inline = placed.filter(({ placement }) => placement.kind === "inline");
  const comments = inline.map(({ finding: { path, side, line, start_line, title } }) => ({
    ...{ path, side, line, body: title },
    ...(start_line === null ? {} : { start_line, start_side: side }),
  }));
  const call = clientOf(github, github.state.install(app, [repository]));
  const { status, body } = await call(`POST /repos/octo-org/${name}/pulls/${pull.number}/reviews`, {
    ...{ event: "COMMENT", body: "All of it.", comments },
  });
  expect({ status, errors: body.errors }).toEqual({ status: 200, errors: undefined });
  expect(pull.reviewComments).toHaveLength(inline.length);
  return inline.length;
}

/** Whatever stands on the pull request already, each finding has one place in the publication. */
function expectPublication(placed: readonly PlacedFinding[]): void {
  const ids = placed.map(({ finding }) => finding.id);
  expect(new Set(ids).size).toBe(ids.length);
  const every = (rest: number) => new Set(ids.filter((_, index) => index % 3 === rest));
  const none = new Set<string>();
  const ledger = { state: emptyState, sticky: null, entries: [], notice: null };
  const posted = new Map([...every(0)].map((id, index) => [id, index]));
  for (const existing of [
    { ...{ review: false, pending: false, ledger, visible: [] }, mine: new Map<string, number>() },
    { ...{ review: true, pending: true, ledger, visible: [] }, mine: posted },
  ]) {
    for (const annotated of [none, every(1)]) {
      const routes = planPublication({
        ...{ existing, annotated },
        result: { findings: [...placed], ledger: null, coverage: sampleResult().coverage },
        maxComments: 7,
      });
      expect(routes.map(({ finding }) => finding.id).toSorted()).toEqual(ids.toSorted());
      const comments = routes.filter(({ place }) => place.kind === "line");
      for (const { finding } of comments) {
        const { placement } = placed.find((one) => one.finding.id === finding.id)!;
        expect(placement.kind).toBe("inline");
      }
    }
  }
}

async function expectReview(repo: GitRepo, head: string, wanted: readonly Aim[]) {
  await using opened = await openRepository(repo, { base: "main", head });
  const sources = await readSources(repo, opened.workspace.shas);
  const shots = wanted.map((aim, index) => shoot(aim, sources, `Finding ${index}`));
  // Few lines are kept, so that files are read again all the time.
  const { answers, placed } = await reviewOf(opened.workspace, 200).all(shots.map((one) => one.reported));
  for (const [index, shot] of shots.entries()) expectFinding(shot, answers[index]!, placed);
  expectPublication(placed);
  return { reported: shots.length, inline: await post(placed, repo, head) };
}

/** A property that holds of nothing proves nothing: counts what it saw. */
function tally() {
  const seen = { reported: 0, inline: 0 };
  return {
    add({ reported, inline }: typeof seen) {
      seen.reported += reported;
      seen.inline += inline;
    },
    expect(least: number) {
      expect(seen.reported).toBeGreaterThan(least);
      expect(seen.inline).toBeGreaterThan(seen.reported / 4);
    },
  };
}

describe("the places of findings on GitHub", () => {
  it("Every finding is at its code and accepted, in changed, moved, added and removed code", {
    timeout: 1_800_000,
  }, async () => {
    const seen = tally();
    await fc.assert(
      fc.asyncProperty(generatedFiles, unrelated, aims, async (files, above, wanted) => {
        using repo = GitRepo.create({ bare: true });
        repo.importCommits(commitsOf(files, above));
        seen.add(await expectReview(repo, "topic", wanted));
      }),
      runs(8),
    );
    seen.expect(200);
  });

  it("Every finding is at its code and accepted, in unusual repositories", {
    timeout: 1_800_000,
  }, async () => {
    const seen = tally();
    await fc.assert(
      fc.asyncProperty(repositorySpec, aims, async (spec, wanted) => {
        using made = buildRepository(spec);
        seen.add(await expectReview(made.repo, made.head, wanted));
      }),
      runs(8),
    );
    seen.expect(240);
  });
});

/** The rows of a file's hunks below the preamble, as if the new file were `shift` lines longer. */
const rowsBelow = ({ diff }: Source, shift: number) =>
  diff?.hunks
    .map(({ rows }) => rows)
    .filter((rows) => (rows.at(-1)?.LEFT ?? PREAMBLE_LINES) > PREAMBLE_LINES - 4)
    .map((rows) =>
      rows.map(({ LEFT, RIGHT, text }) => ({ LEFT, text, RIGHT: RIGHT === null ? null : RIGHT + shift })),
    );

describe("the place of a finding over time", () => {
  it("A finding stays at its code when unrelated lines above it change, even copies of it", {
    timeout: 1_800_000,
  }, async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(editedFiles, unrelated, aims, async (files, above, wanted) => {
        using repo = GitRepo.create({ bare: true });
        repo.importCommits(commitsOf(files, above));
        await using before = await openRepository(repo, { base: "main", head: "topic" });
        await using after = await openRepository(repo, { base: "main", head: "shifted" });
        const [sources, shifted] = await Promise.all(
          [before, after].map(({ workspace }) => readSources(repo, workspace.shas)),
        );
        const reviews = { before: reviewOf(before.workspace), after: reviewOf(after.workspace) };
        const shift = above.insert - above.remove;
        for (const aim of wanted) {
          const { truth, reported } = shoot(aim, sources!, "It");
          const now = shifted!.find(({ path }) => path === truth?.source.path);
          // Of lines that repeat, git may call others removed once the file is longer.
          const isSame =
            truth &&
            now &&
            JSON.stringify(rowsBelow(truth.source, shift)) === JSON.stringify(rowsBelow(now, 0));
          if (!isSame || !truth.source.diff?.hunks.length || aim.otherSide) continue;
          // A copy may well be nearer to a number that is wrong, and a few characters may stand in what was changed.
          if (aim.form === "part" && truth.side === "LEFT") continue;
          const mayRepeat = above.copies || aim.form === "part";
          const first = reported.start_line ?? reported.line;
          if (mayRepeat && (aim.off !== 0 || first <= PREAMBLE_LINES)) continue;
          const was = await reviews.before.one(reported);
          // Which number a model means that is wrong about number or side nobody knows.
          const isKnown = aim.off === 0 && aim.source !== "rows";
          if (!was || (was.finding.side !== reported.side && !isKnown)) continue;
          if ((was.finding.start_line ?? was.finding.line) <= PREAMBLE_LINES) continue;
          const movesOn = (side: Side) => (side === "RIGHT" ? shift : 0);
          const stated = movesOn(reported.side);
          if (first + stated < 1) continue;
          const line = reported.line + stated;
          const start_line = reported.start_line && reported.start_line + stated;
          const is = await reviews.after.one({ ...reported, line, start_line });
          const by = movesOn(was.finding.side);
          expect(is, JSON.stringify({ reported, aim, shift }, null, 1)).toEqual({
            placement: was.placement,
            finding: {
              ...was.finding,
              line: was.finding.line + by,
              start_line: was.finding.start_line && was.finding.start_line + by,
            },
          });
          compared++;
        }
      }),
      runs(7),
    );
    expect(compared).toBeGreaterThan(40);
  });
});
