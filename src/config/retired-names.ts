/** Removed variables and keys, and what holds instead. If one is still set, the start or the file is refused with that sentence. */
export const retiredNames: Readonly<Record<string, string>> = {
  GH_ORG: "the setup page asks for the organisation that will own the App",
  AZURE_OPENAI_DEPLOYMENT: "HUNKWISE_MODEL names the deployment",
  OPENAI_API_VERSION: "Azure is asked through its v1 API, which has no versions",
  HUNKWISE_SUMMARIZE_MODEL: "HUNKWISE_MODEL merges findings and writes the summary",
  HUNKWISE_EMBEDDING_TOKENS:
    "one update of an index embeds at most 5,000,000 tokens, and the next one does the rest",
  HUNKWISE_PERSON_COMMANDS_PER_HOUR: "one person may give 60 commands in an hour",
  HUNKWISE_PULL_REVIEWS_PER_DAY:
    "one pull request gets 50 reviews in a day, or any number with HUNKWISE_INSTALLATION_REVIEWS_PER_DAY=0",
  HUNKWISE_AUTHOR_REVIEWS_PER_DAY:
    "one author gets 300 reviews in a day, or any number with HUNKWISE_INSTALLATION_REVIEWS_PER_DAY=0",
  HUNKWISE_INSTALLATION_CONCURRENCY: "all workers together run 10 jobs of one installation at the same time",
  HUNKWISE_LEASE_SECONDS: "a lease lasts 30 seconds",
  HUNKWISE_GRACE_SECONDS: "running jobs have 8 seconds to return to the queue",
  HUNKWISE_WRITE_GAP_SECONDS: "writes for one installation begin one second apart, as GitHub asks",
  HUNKWISE_RECONCILE_MINUTES: "GitHub is asked for missed events at the start and once an hour",
  HUNKWISE_INSIGHTS_DAYS: "figures are kept for 400 days",
  "conversation.answers":
    "people with write access and the author of the pull request get answers to questions in threads of findings",
  "prove.findings": "the four worst findings of a review get a test",
};

/** Only Azure's classic API read these; without an endpoint there, they are for other programs. */
const ofAzure: ReadonlySet<string> = new Set(["AZURE_OPENAI_DEPLOYMENT", "OPENAI_API_VERSION"]);

/** Whether a command on a repository of this machine refuses the name as well: `GH_ORG` is for other programs there. */
export const isRetired = (name: string): boolean =>
  Object.hasOwn(retiredNames, name) && (name.startsWith("HUNKWISE_") || ofAzure.has(name));

/** The retired variables that are set. */
export const retiredIn = (raw: Readonly<Record<string, string | undefined>>): string[] =>
  Object.keys(retiredNames).filter(
    (name) => raw[name]?.trim() && (!ofAzure.has(name) || raw.AZURE_OPENAI_ENDPOINT?.trim()),
  );
