import { createCommandSandbox, createFindTestPlace, type FindTestPlace } from "../border/test-place.ts";
import type { Env, LocalEnv } from "../config/env.ts";
import { environmentsFolder } from "../config/folders.ts";
import { programPath } from "../config/process-env.ts";

interface TestPlaces {
  sandbox: Env["sandbox"];
  /** Where environments are kept. */
  folder: string;
  /** Says that there is no sandbox, as the end of a sentence. */
  missing(why: string, remedy: string): string;
}

/** Finds where tests of findings run in a process that makes one review. */
export function testPlacesHere({ sandbox, folder, missing }: TestPlaces): FindTestPlace {
  return async (order, signal) => {
    let whyNone: string | null = null;
    const warn = (why: string, remedy: string) => {
      whyNone = missing(why, remedy);
    };
    const findSandbox = createCommandSandbox({ searchPath: programPath(), ...sandbox, warn });
    const findTestPlace = createFindTestPlace({ findSandbox, folder, registries: sandbox.registries });
    const found = await findTestPlace(order, signal);
    return whyNone === null ? found : { why: whyNone };
  };
}

/** The same on a person's machine. Environments are kept beside the records of reviews. */
export function localTestPlaces({ sandbox, modelFolder }: Pick<LocalEnv, "sandbox" | "modelFolder">) {
  const find = testPlacesHere({
    sandbox,
    folder: environmentsFolder(modelFolder ?? ""),
    missing: (why, remedy) => `${why}. ${remedy.replace(/\.$/, "")}`,
  });
  const findWithFolder: FindTestPlace = async (order, signal) =>
    modelFolder === null && order.config.prove.prepare !== null ? NO_FOLDER : find(order, signal);
  return findWithFolder;
}

const NO_FOLDER = {
  why: "there is no folder for environments. Set HUNKWISE_DATA_DIR to one that you can write to",
};
