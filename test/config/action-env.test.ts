import { describe, expect, it } from "vitest";
import { readActionEnv } from "../../src/config/action-env.ts";
import { stepEnv } from "../cli/action/step-env.ts";
import { failure } from "../support/failure.ts";

describe("the inputs of the Action", () => {
  it("The inputs of the Action have defaults that let nobody spend anything unasked", () => {
    expect(readActionEnv(stepEnv()).inputs).toEqual({
      ...{
        githubToken: "ghs_token",
        organizationToken: null,
        policy: "optional",
        stateKey: null,
        reviewsOf: "collaborators",
        reviewLabel: "hunkwise",
      },
      ...{ pullRequest: null, effort: null, maxCost: null, maxTokens: 2_000_000, minimumSeverity: null },
      ...{ failOn: "never", paths: [], findings: [], instructions: "", requireModel: false },
    });
  });

  it("The inputs of the Action count as unset if they are empty, as composite actions pass them", () => {
    const names = [
      "STATE_KEY",
      "EFFORT",
      "MAX_COST",
      "PULL_REQUEST",
      "PATHS",
      "MINIMUM_SEVERITY",
      "FAIL_ON",
      "REVIEWS_OF",
    ];
    const empty = Object.fromEntries(names.map((name) => [`INPUT_${name}`, ""]));
    expect(readActionEnv(stepEnv({ ...empty, OPENAI_API_KEY: "", HUNKWISE_MODEL: "" }))).toEqual(
      readActionEnv(stepEnv()),
    );
  });

  it("The inputs of the Action are read with their types", () => {
    const inputs = {
      INPUT_PATHS: "src/**\n\n  !src/gen/**\n",
      INPUT_MAX_COST: "0.50",
      INPUT_PULL_REQUEST: "7",
      INPUT_REQUIRE_MODEL: "true",
    };
    expect(readActionEnv(stepEnv(inputs)).inputs).toMatchObject({
      ...{ paths: ["src/**", "!src/gen/**"], maxCost: 0.5, pullRequest: 7, requireModel: true },
    });
  });

  it.each([
    [{ INPUT_STATE_KEY: "short" }, "state-key must have at least 16 characters"],
    [{ INPUT_EFFORT: "huge" }, "effort must be one of low, medium, high"],
    [{ INPUT_MAX_COST: "0" }, "max-cost must be an amount in US dollars"],
    [{ INPUT_MAX_COST: "-1" }, "max-cost must be an amount in US dollars"],
    [{ INPUT_PULL_REQUEST: "7; id" }, "pull-request must be the number of a pull request"],
    [{ INPUT_REVIEWS_OF: "all" }, "reviews-of must be one of collaborators, everyone"],
    [{ INPUT_FAIL_ON: "hi" }, "fail-on must be one of critical, high, medium, low, never"],
    [{ INPUT_GITHUB_TOKEN: "" }, "github-token is empty"],
    [{ INPUT_PATHS: "!docs/**\n!*.md" }, "paths selects no file: a pattern with ! only takes files away"],
    [{ INPUT_REQUIRE_MODEL: "yes" }, "require-model must be one of true, false"],
    [{ INPUT_GITHUB_TOKEN: " \n" }, "github-token is empty"],
    [
      { INPUT_GITHUB_TOKEN: "ghs_a\nb" },
      "github-token must be only the token, without spaces or line breaks",
    ],
    [{ INPUT_ORGANIZATION_TOKEN: "ghs a" }, "organization-token must be only the token"],
  ])("The inputs of the Action are refused by name: %j", async (inputs, message) => {
    expect(await failure((async () => readActionEnv(stepEnv(inputs)))())).toMatchObject({
      ...{ code: "config_invalid", message: expect.stringContaining(message) },
    });
  });
});

describe("the environment of a step", () => {
  it("readActionEnv names the server that runs the job, an Enterprise Server too", () => {
    const server = {
      GITHUB_API_URL: "https://ghe.example/api/v3/",
      GITHUB_SERVER_URL: "https://ghe.example",
    };
    expect(readActionEnv(stepEnv()).env.github).toEqual({
      ...{
        host: "github.com",
        protocol: "https",
        apiUrl: "https://api.github.com",
        webUrl: "https://github.com",
      },
    });
    expect(readActionEnv(stepEnv(server)).env.github).toEqual({
      ...{
        host: "ghe.example",
        protocol: "https",
        apiUrl: "https://ghe.example/api/v3",
        webUrl: "https://ghe.example",
      },
    });
  });

  it("The environment of a step does not take the variables of the job's own programs", () => {
    const { env } = readActionEnv(
      stepEnv({ DATABASE_URL: "postgres://ci", APP_ID: "1", PORT: "80", GHE_HOST: "evil.example" }),
    );
    expect(env).toMatchObject({ databaseUrl: null, app: null, github: { host: "github.com" } });
  });

  it("The environment of a step is refused outside of GitHub Actions, with the command to use", async () => {
    expect(await failure((async () => readActionEnv({ PATH: "/usr/bin" }))())).toMatchObject({
      ...{ code: "usage", remedy: expect.stringContaining("hunkwise review") },
    });
  });
});
