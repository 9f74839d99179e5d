import { z } from "zod";
import { parser } from "./payload.ts";

/** A repository as events about installations name it: its owner stands in its full name alone. */
const NamedRepository = z
  .object({ id: z.int().positive(), full_name: z.string().regex(/^[\w.-]{1,100}\/[\w.-]{1,100}$/) })
  .transform(({ id, full_name }) => {
    const [owner = "", name = ""] = full_name.split("/");
    return { id, owner, name };
  });

const OfInstallation = z.object({ action: z.string(), installation: z.object({ id: z.int().positive() }) });
const InstallationPayload = OfInstallation.extend({
  // Left out where there are very many.
  repositories: z.array(NamedRepository).nullish().catch(null),
});
const RepositoriesPayload = OfInstallation.extend({ repositories_removed: z.array(NamedRepository) });

/** The App was installed, taken off, suspended or allowed again; or taken off some repositories. */
export interface InstallationEvent {
  action: string;
  installation: number;
  /** Those that it is about, as far as GitHub names them. */
  repositories: { id: number; owner: string; name: string }[];
}

export const parseInstallationEvent = parser(
  InstallationPayload,
  ({ action, installation, repositories }): InstallationEvent => ({
    ...{ action, installation: installation.id, repositories: repositories ?? [] },
  }),
);

export const parseRepositoriesRemovedEvent = parser(
  RepositoriesPayload,
  ({ action, installation, repositories_removed: repositories }): InstallationEvent => ({
    ...{ action, installation: installation.id, repositories },
  }),
);
