import { AppError } from "../errors.ts";
import type { ClaimedJob, RepositoryRef, Task } from "../queue/job.ts";
import { dayOf, type QuotaEntry, type QuotaLimit, type Quotas } from "../queue/usage.ts";

/** How much may be asked of Hunkwise. 0: as much as anybody likes. */
export interface MostUsage {
  /** Commands and replies of one person within an hour, in all repositories of an installation. */
  commandsAnHour: number;
  /** Reviews of one pull request on a calendar day (UTC). */
  pullReviewsADay: number;
  /** Reviews on such a day of all pull requests that one person opened, in all repositories of an installation. */
  authorReviewsADay: number;
  /** Reviews of all pull requests of an installation on such a day. */
  installationReviewsADay: number;
}

/** What keeps one person, one pull request or one installation from taking everything: time, money and GitHub's patience. */
export interface UsageLimits {
  /** Whether whoever asked for the job may ask that much. Counted before anything is known of them, and so for strangers, too. */
  mayAsk(job: ClaimedJob): Promise<boolean>;
  /**
   * Asked right before a review costs anything. Rejects with `budget_spent` beyond a limit, in words that everybody may read. A
   * job that comes back counts once for each head that it begins to review.
   */
  requireReview(of: ReviewToBegin): Promise<void>;
}

export interface ReviewToBegin {
  /** Of the job. */
  id: string;
  repository: RepositoryRef;
  pull: number;
  head: string;
  /** Login of whoever opened the pull request. */
  author: string;
}

export interface UsageLimitsOptions {
  tally: Quotas;
  most: MostUsage;
  /** Milliseconds since 1970. */
  now(): number;
}

const hourMs = 3_600_000;

export function createUsageLimits({ tally, most, now }: UsageLimitsOptions): UsageLimits {
  const { commandsAnHour, pullReviewsADay, authorReviewsADay, installationReviewsADay } = most;
  const enter = async (entry: QuotaEntry, limits: readonly QuotaLimit[]) => {
    const inForce = limits.filter((limit) => limit.most > 0);
    return inForce.length > 0 ? tally.take(entry, inForce) : null;
  };
  return {
    async mayAsk({ id, task }) {
      const asked = askedBy(task);
      if (asked === null) return true;
      const { repository, login } = asked;
      const at = now();
      const limit = { scope: `person ${login.toLowerCase()}`, most: commandsAnHour, since: at - hourMs };
      const entry = { installation: repository.installation, repository: repository.id, name: id, at };
      return (await enter(entry, [limit])) === null;
    },

    async requireReview({ id, repository, pull, head, author }) {
      const at = now();
      const since = Date.parse(dayOf(at));
      const ofPull = { scope: `pull ${repository.id}#${pull}`, most: pullReviewsADay, since };
      const ofAuthor = { scope: `author ${author.toLowerCase()}`, most: authorReviewsADay, since };
      const ofAll = { scope: "installation", most: installationReviewsADay, since };
      const entry = {
        ...{ installation: repository.installation, repository: repository.id, at },
        name: `${id} ${head}`,
      };
      const reached = await enter(entry, [ofPull, ofAuthor, ofAll]);
      if (reached) throw tooMany(reached);
    },
  };
}

/** Null for what no person asked for. */
function askedBy(task: Task): { repository: RepositoryRef; login: string } | null {
  switch (task.kind) {
    case "review":
      return task.requestedBy === null ? null : { repository: task.repository, login: task.requestedBy };
    case "command":
      return { repository: task.repository, login: task.requestedBy };
    case "reply":
      return { repository: task.repository, login: task.author };
    default:
      return null;
  }
}

const owners = {
  pull: "this pull request",
  author: "the pull requests of its author",
  installation: "its installation",
};

function tooMany({ scope, most }: QuotaLimit): AppError {
  const [kind] = scope.split(" ");
  return new AppError(
    "budget_spent",
    `${most} reviews a day are the limit of ${owners[kind as keyof typeof owners]}, and today's are used up; a push or a command after midnight (UTC) has everything reviewed that came meanwhile`,
  );
}
