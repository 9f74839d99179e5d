import { Hono } from "hono";
import { LRUCache } from "lru-cache";
import type { LoadedRepoConfig } from "../config/load-config.ts";
import { AppError } from "../core/errors.ts";
import { withoutSecrets } from "../core/secrets/redact.ts";
import { annotatedConfig, configHeadline } from "../report/config.ts";
import { type Html, html, layout } from "./html.ts";
import { shown } from "./parts.ts";
import { fullName, type PagesEnv, type Viewer, type VisibleRepository } from "./viewer.ts";

export interface ConfigurationDeps {
  /** Rejects with an AppError of a `github_*` code, or with `config_invalid`. */
  loadConfiguration(repository: VisibleRepository, signal: AbortSignal): Promise<LoadedRepoConfig>;
  now: () => number;
}

/** GitHub is not asked again before, however often somebody looks: reviews need its requests. */
const freshMs = 60_000;
const mostKept = 1_000;

const patienceMs = 10_000;
const mostListed = 500;

/** What holds for a repository, and where it comes from: `/configuration`. */
export function configuration({ loadConfiguration, now }: ConfigurationDeps): Hono<PagesEnv> {
  const read = remembered((one) => configurationPart(one, loadConfiguration), now);
  return new Hono<PagesEnv>().get("/configuration", async (context) => {
    const viewer = context.get("viewer");
    const wanted = (context.req.query("repository") ?? "").trim().toLowerCase();
    const { repositories } = viewer;
    const only = repositories.length === 1 ? repositories[0] : undefined;
    const repository =
      wanted === "" ? only : repositories.find((one) => fullName(one).toLowerCase() === wanted);
    if (wanted !== "" && !repository) return context.notFound();
    const body = html`${chooser(viewer, repository)}${repository && (await read(repository))}`;
    return context.html(layout({ title: "Configuration", viewer, section: "/configuration", body }));
  });
}

/** Keeps what was read of each repository for a short time. */
function remembered(read: (repository: VisibleRepository) => Promise<Html>, now: () => number) {
  const kept = new LRUCache<number, { at: number; html: Promise<Html> }>({ max: mostKept });
  return (repository: VisibleRepository): Promise<Html> => {
    const known = kept.get(repository.id);
    if (known && now() - known.at < freshMs) return known.html;
    const html = read(repository);
    kept.set(repository.id, { at: now(), html });
    html.catch(() => kept.delete(repository.id));
    return html;
  };
}

const chooser = (
  { repositories }: Viewer,
  chosen: VisibleRepository | undefined,
): Html => html`<form class="filters" method="get" action="/configuration">
<label>Repository
<select name="repository">${repositories
  .slice(0, mostListed)
  .map(
    (one) =>
      html`<option value="${fullName(one)}"${one === chosen && html` selected`}>${fullName(one)}</option>`,
  )}</select></label>
<button>Show</button></form>
${repositories.length === 0 && html`<p class="empty">GitHub shows you no repository in which this App is installed.</p>`}`;

async function configurationPart(
  repository: VisibleRepository,
  load: ConfigurationDeps["loadConfiguration"],
): Promise<Html> {
  const name = fullName(repository);
  try {
    const loaded = await load(repository, AbortSignal.timeout(patienceMs));
    const text = annotatedConfig(loaded.config, loaded);
    return html`<p>${shown(configHeadline(loaded, `the default branch of ${name}`))}.</p>
<p class="note">This applies to pull requests into the default branch, as it was on GitHub within the last minute. Each value has a comment that says where it comes from. Files of folders
(<code>.hunkwise.yml</code>) may change it for their files; <code>hunkwise config show</code> in a clone shows them, too. <code>docs/configuration.md</code> describes every key.</p>
<pre tabindex="0" aria-label="Configuration of ${name}">${shown(withoutSecrets(text))}</pre>`;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const isRefused = error.code === "config_invalid";
    return html`<div class="notice"><p>${isRefused ? "The configuration is refused, so no model reviews pull requests here:" : "The configuration could not be read from GitHub:"}</p>
<p>${shown(error.message)}.</p>${error.remedy && html`<p>${shown(error.remedy)}</p>`}</div>`;
  }
}
