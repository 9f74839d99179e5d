import { join } from "node:path";
import { checkout } from "../../src/repo/git/checkout.ts";
import { Mirror } from "../../src/repo/git/mirror.ts";
import { GitHttpServer } from "../../test/support/git-http.ts";
import { gitPath, testGitEnvironment } from "../../test/support/git-repo.ts";
import { timeOf } from "./bare-process.ts";
import { compare, timed } from "./measure.ts";
import { createServedRepository, type ServedRepository } from "./repositories.ts";
import { type Bench, ratioRow } from "./row.ts";

const REPETITIONS = 7;
const WARM_UPS = 1;
const path = "octo-org/large";

type Pull = ServedRepository["pulls"][number];

/** A second checkout of a repository, against `git fetch` and `git checkout` in a clone. */
export async function benchCheckout(bench: Bench): Promise<void> {
  bench.say("making a repository of 20,000 files and serving it over HTTP");
  const root = join(bench.temp, "served");
  const served = createServedRepository(join(root, `${path}.git`), 1 + 2 * (REPETITIONS + WARM_UPS));
  await using server = await GitHttpServer.start({ root });
  const url = `${server.origin}/${path}.git`;

  bench.say("checking it out for the first time: a mirror of ours, a partial clone, a full clone");
  const [before, ...later] = served.pulls;
  if (!before) throw new Error("There is no pull request to begin with");
  const ours = checkoutOf(join(bench.temp, "data"), url);
  await ours(before);
  const partial = await cloneByHand(join(bench.temp, "partial"), url, before, ["--filter=blob:none"]);
  const full = await cloneByHand(join(bench.temp, "full"), url, before, []);

  const against = (byHand: typeof partial, pulls: readonly Pull[]) =>
    compare({
      repetitions: REPETITIONS,
      warmUps: WARM_UPS,
      ours: (round) => ours(pullAt(pulls, round)),
      reference: (round) => byHand(pullAt(pulls, round)),
    });
  bench.say("checking pull requests out that change 50 files each");
  const what = "second checkout, 20,000 files, 50 changed / git fetch + checkout";
  const half = later.length / 2;
  bench.add(ratioRow(`${what} in a partial clone`, await against(partial, later.slice(0, half)), 1.3));
  bench.add(ratioRow(`${what} in a full clone`, await against(full, later.slice(half)), 1.3));
}

function pullAt(pulls: readonly Pull[], round: number): Pull {
  const pull = pulls[round];
  if (!pull) throw new Error(`There is no pull request for round ${round}`);
  return pull;
}

/** Checks a pull request out as a job does: open the mirror, take a slot, fetch, write, give the slot back. */
function checkoutOf(dataFolder: string, url: string): (pull: Pull) => Promise<number> {
  const repository = { host: "127.0.0.1", id: 1 };
  return ({ number, head, base }) =>
    timed(async () => {
      const mirror = await Mirror.open({
        gitPath,
        dataFolder,
        repository,
        url,
        network: { allowHttp: true },
      });
      const taken = await checkout({
        mirror,
        head: { sha: head, ref: `refs/pull/${number}/head` },
        base: { sha: base, ref: "refs/heads/main" },
        authorization: null,
      });
      await taken.release();
    });
}

/** The commands of a person, in a similar clone that has been used before. */
async function cloneByHand(dir: string, url: string, first: Pull, options: readonly string[]) {
  const git = (cwd: string, ...args: string[]) =>
    timeOf({ program: gitPath, args, cwd, env: testGitEnvironment });
  await git("/", "clone", "--quiet", "--no-checkout", ...options, url, dir);
  const next = async ({ number }: Pull) => {
    const fetched = await git(dir, "fetch", "--quiet", "origin", `refs/pull/${number}/head`);
    return fetched + (await git(dir, "checkout", "--quiet", "--detach", "FETCH_HEAD"));
  };
  await next(first);
  return next;
}
