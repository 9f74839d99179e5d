/** The environment of a step that runs the Action, with some inputs. */
export const stepEnv = (inputs: Record<string, string> = {}): Record<string, string> => ({
  ...{ GITHUB_EVENT_NAME: "pull_request_target", GITHUB_EVENT_PATH: "/tmp/event.json" },
  ...{ GITHUB_REPOSITORY: "octo-org/shop", GITHUB_REPOSITORY_ID: "42" },
  ...{ GITHUB_API_URL: "https://api.github.com", GITHUB_SERVER_URL: "https://github.com" },
  ...{ GITHUB_OUTPUT: "/tmp/output", GITHUB_STEP_SUMMARY: "/tmp/summary", RUNNER_TEMP: "/tmp" },
  INPUT_GITHUB_TOKEN: "ghs_token",
  ...inputs,
});
