import { errorLine } from "../errors.ts";
import type { Finding } from "../finding.ts";
import type { CheckRunUpdate } from "../github/pull-request-api.ts";
import type { CheckRun } from "./check-run.ts";
import { postOnce } from "./post-once.ts";
import type { PostContext } from "./post-review.ts";
import { listed, type Outcome, type Routed, type Settled } from "./publication.ts";
import { isInvalid, refusalNotice } from "./refusal-notice.ts";
import { renderAnnotation } from "./render-annotation.ts";
import { readAnnotated } from "./standing.ts";

/** GitHub takes no more in one request. */
const mostAtOnce = 50;

/**
 * Puts findings on lines of the head as annotations of the check run, where comments on lines are closed to us. GitHub adds
 * to the annotations that stand and takes none away, so those that stand are looked up first and never sent again.
 */
export async function postAnnotations(
  waiting: readonly Routed[],
  context: PostContext,
  check: CheckRun,
): Promise<Outcome<Settled>> {
  const settled = new Map<Finding, Settled>();
  const placeOf = ({ finding }: Routed): Settled =>
    settled.get(finding) ?? listed("neither comments on lines nor annotations are possible here");
  // Why there is no check run is told by the check run itself.
  if (check.id === undefined) return { placeOf };
  try {
    const standing = await readAnnotated(context.api, keyOf(context));
    for (const { finding } of waiting) {
      if (standing.mine.has(finding.id)) settled.set(finding, { kind: "annotated" });
      else if (standing.earlier.has(finding.id)) settled.set(finding, { kind: "standing", entry: null });
    }
    const fresh = waiting.map(({ finding }) => finding).filter((finding) => !settled.has(finding));
    for (let at = 0; at < fresh.length; at += mostAtOnce) {
      const batch = fresh.slice(at, at + mostAtOnce);
      const place = await annotate(batch, context, check.id, check.goingOn);
      for (const finding of batch) settled.set(finding, place);
    }
    return { placeOf };
  } catch (error) {
    return { placeOf, notice: refusalNotice(error, "annotations") };
  }
}

async function annotate(
  batch: readonly Finding[],
  context: PostContext,
  checkId: number,
  goingOn: CheckRunUpdate,
): Promise<Settled> {
  const { api, sleep } = context;
  let missing = batch;
  try {
    await postOnce(
      () => api.updateCheckRun(checkId, { ...goingOn, annotations: missing.map(renderAnnotation) }),
      async () => {
        const { mine } = await readAnnotated(api, keyOf(context));
        missing = batch.filter(({ id }) => !mine.has(id));
        return missing.length === 0;
      },
      sleep,
    );
    return { kind: "annotated" };
  } catch (error) {
    if (!isInvalid(error)) throw error;
    return listed(
      `comments on lines are not possible here, and GitHub refused its annotation (${errorLine(error)})`,
    );
  }
}

const keyOf = ({ headSha, checkTrigger }: PostContext) => ({ head: headSha, trigger: checkTrigger });
