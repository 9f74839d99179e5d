/** One environment variable, as documentation shows it. */
export interface EnvironmentVariable {
  name: string;
  /** Null: unset. */
  default: string | null;
  what: string;
}

/** The model that is asked when a key is given and no model is named. */
export const defaultModel = "gpt-6.1-sol";
/** Context window assumed for a model, in tokens: what every current one has at least. */
export const defaultContextTokens = 128_000;
/** Instructions, tools and one file of code fill a smaller context window. */
export const leastContextTokens = 16_000;

/** Every variable Hunkwise reads, in the order of the documentation. */
export const environmentDocs: readonly EnvironmentVariable[] = [
  {
    name: "APP_ID",
    default: null,
    what: "Id of the GitHub App. Without it and a key, `serve` shows the set-up page.",
  },
  {
    name: "PRIVATE_KEY",
    default: null,
    what: "Private key of the App as PEM; line breaks may be written as `\\n`, or the whole be base64.",
  },
  {
    name: "PRIVATE_KEY_PATH",
    default: null,
    what: "File with the private key, where `PRIVATE_KEY` is not set.",
  },
  {
    name: "WEBHOOK_SECRET",
    default: null,
    what: "Secret with which GitHub signs webhooks. Required with an App; has no default.",
  },
  {
    name: "GHE_HOST",
    default: null,
    what: "Host of a GitHub Enterprise Server, `github.example.com` or with a port.",
  },
  {
    name: "GHE_PROTOCOL",
    default: "https",
    what: "`http` speaks to `GHE_HOST` without TLS, API and git alike.",
  },
  {
    name: "GH_ORG",
    default: null,
    what: "Organisation in which the set-up page creates the App. Unset: your account.",
  },
  { name: "HOST", default: null, what: "Address to listen on. Unset: all." },
  { name: "PORT", default: "3000", what: "Port to listen on." },
  { name: "WEBHOOK_PATH", default: "/api/github/webhooks", what: "Path that receives webhooks." },
  {
    name: "WEBHOOK_PROXY_URL",
    default: null,
    what: "Address that forwards webhooks to this machine, entered by the set-up page instead of its own address.",
  },
  {
    name: "LOG_LEVEL",
    default: "info",
    what: "`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.",
  },
  {
    name: "OPENAI_API_KEY",
    default: null,
    what: "Key of the model's provider. With neither key nor base URL, reviews use only the analyzers.",
  },
  {
    name: "OPENAI_BASE_URL",
    default: null,
    what: "Root of any API that speaks Chat Completions. Unset: OpenAI's own. Local servers need no key.",
  },
  {
    name: "AZURE_OPENAI_ENDPOINT",
    default: null,
    what: "Endpoint of an Azure OpenAI resource, in place of `OPENAI_BASE_URL`; with `/openai/v1` at its end it needs no API version.",
  },
  { name: "AZURE_OPENAI_API_KEY", default: null, what: "Key of that resource. Required with it." },
  {
    name: "AZURE_OPENAI_DEPLOYMENT",
    default: null,
    what: "Deployment to ask. Unset: the one that `HUNKWISE_MODEL` names.",
  },
  {
    name: "OPENAI_API_VERSION",
    default: null,
    what: "API version of Azure's classic API, such as `2024-10-21`.",
  },
  { name: "HUNKWISE_MODEL", default: defaultModel, what: "Model to ask. Required with `OPENAI_BASE_URL`." },
  {
    name: "HUNKWISE_VERIFY_MODEL",
    default: null,
    what: "Model at the same endpoint that checks findings. Unset: `HUNKWISE_MODEL`.",
  },
  {
    name: "HUNKWISE_SUMMARIZE_MODEL",
    default: null,
    what: "Model at the same endpoint that merges and sums up. Unset: `HUNKWISE_MODEL`.",
  },
  {
    name: "HUNKWISE_FALLBACK_MODEL",
    default: null,
    what: "Model that is asked while one of the others is overloaded or cannot be reached. Unset: reviews wait.",
  },
  {
    name: "HUNKWISE_FALLBACK_BASE_URL",
    default: null,
    what: "Endpoint of that model. Unset: that of the others.",
  },
  {
    name: "HUNKWISE_FALLBACK_API_KEY",
    default: null,
    what: "Key for it. Unset: at the same endpoint that of the others, at another one none.",
  },
  {
    name: "HUNKWISE_EMBEDDING_MODEL",
    default: null,
    what: "Model that makes vectors of code, such as `text-embedding-3-small`, so that the knowledge graph also finds by meaning. Unset: by words alone, and no code is sent for it.",
  },
  {
    name: "HUNKWISE_EMBEDDING_BASE_URL",
    default: null,
    what: "Endpoint of that model, which speaks OpenAI's embeddings. Unset: that of the reviews' model.",
  },
  {
    name: "HUNKWISE_EMBEDDING_API_KEY",
    default: null,
    what: "Key for it. Unset: at the same endpoint that of the reviews' model, at another one none.",
  },
  {
    name: "HUNKWISE_EMBEDDING_TOKENS",
    default: "5000000",
    what: "Tokens that one update of a repository's index may take; what is left follows with the next one.",
  },
  {
    name: "HUNKWISE_PROTOCOL",
    default: "auto",
    what: "How the model calls tools: `native` (through its API), `text` (with JSON in its text), or `auto`, which asks the model once.",
  },
  {
    name: "HUNKWISE_REASONING_EFFORT",
    default: null,
    what: "`minimal`, `low`, `medium` or `high`, sent as `reasoning_effort`. Unset: the model decides.",
  },
  {
    name: "HUNKWISE_CONTEXT_TOKENS",
    default: null,
    what: `Size of the model's context window in tokens, ${leastContextTokens.toLocaleString("en")} or more (with a configured protocol, 8,000). Unset: what its endpoint tells, else ${defaultContextTokens.toLocaleString("en")}.`,
  },
  {
    name: "HUNKWISE_PRICES",
    default: null,
    what: "JSON file with prices of models that extend the built-in table.",
  },
  {
    name: "HUNKWISE_DAILY_TOKENS",
    default: null,
    what: "Prompt and completion tokens of all reviews of one installation on one day (UTC). Unset: no limit.",
  },
  {
    name: "HUNKWISE_DAILY_COST_USD",
    default: null,
    what: "US dollars of all reviews of one installation on one day (UTC). Unset: no limit.",
  },
  {
    name: "HUNKWISE_PERSON_COMMANDS_PER_HOUR",
    default: "60",
    what: "Commands, replies and re-runs of one person within an hour, in all repositories of an installation; further ones are left without an answer, and nothing is asked of GitHub or a model for them. `0`: no limit.",
  },
  {
    name: "HUNKWISE_PULL_REVIEWS_PER_DAY",
    default: "50",
    what: "Reviews of one pull request on one day (UTC). The check run of a further one says why there is none; a push or a command on the next day has everything reviewed that came meanwhile. `0`: no limit.",
  },
  {
    name: "HUNKWISE_AUTHOR_REVIEWS_PER_DAY",
    default: "300",
    what: "The same for all pull requests that one person or bot opened, in all repositories of an installation. `0`: no limit.",
  },
  {
    name: "HUNKWISE_INSTALLATION_REVIEWS_PER_DAY",
    default: "1000",
    what: "The same for all pull requests of one installation together. `0`: no limit.",
  },
  {
    name: "HUNKWISE_DATA_DIR",
    default: ".hunkwise",
    what: "Folder for the queue, mirrors of repositories and the App's credentials from the set-up page. A relative path starts at the folder of Hunkwise's `package.json`, wherever a command is run.",
  },
  { name: "HUNKWISE_CONCURRENCY", default: "2", what: "Jobs one worker runs at a time." },
  {
    name: "HUNKWISE_PUSH_WINDOW_SECONDS",
    default: "10",
    what: "How long a pull request has to be quiet after a push before it is reviewed, so that pushes in a row are one review; at most six times as long after the first. `0` to `600`.",
  },
  {
    name: "HUNKWISE_INSTALLATION_CONCURRENCY",
    default: "10",
    what: "Jobs of one installation that all workers together run at a time.",
  },
  {
    name: "HUNKWISE_LEASE_SECONDS",
    default: "30",
    what: "After how long without a sign of life a worker's job is taken over by another one.",
  },
  {
    name: "HUNKWISE_GRACE_SECONDS",
    default: "8",
    what: "How long running jobs may take to hand themselves back after SIGTERM; less than what the machine grants before it kills.",
  },
  {
    name: "HUNKWISE_WRITE_GAP_SECONDS",
    default: "1",
    what: "Time between two writes for one installation. GitHub asks for a second; an Enterprise Server without rate limits bears `0`, which lifts the limits on what is created in a minute and an hour as well.",
  },
  {
    name: "HUNKWISE_RECONCILE_MINUTES",
    default: "60",
    what: "How often GitHub is asked for pull requests and deliveries that were missed, the first time at the start. `0`: never.",
  },
  {
    name: "HUNKWISE_RETENTION_DAYS",
    default: "30",
    what: "How long ended jobs and the records of local reviews are kept, with what the model said and read.",
  },
  {
    name: "HUNKWISE_GRAPH",
    default: "on",
    what: "`on` indexes each repository after its reviews, so that the next ones know callers by more than names, earlier commits, and may ask the knowledge graph (`graph_rag_query`). `off` indexes nothing and reads no index.",
  },
  {
    name: "HUNKWISE_LOGSEQ_DIR",
    default: null,
    what: "Folder of a Logseq graph in which reviews leave their notes, each on a page. Without it no review is offered to leave any.",
  },
  {
    name: "HUNKWISE_DISK_LIMIT_GB",
    default: "20",
    what: "Size of all mirrors and checkouts together; those unused for longest are deleted beyond it.",
  },
  {
    name: "HUNKWISE_METRICS_PORT",
    default: null,
    what: "Port for `/metrics`, `/healthz` and `/readyz` of this process, worker or server. Unset: none.",
  },
  {
    name: "HUNKWISE_METRICS_HOST",
    default: "127.0.0.1",
    what: "Address on which that port listens. They ask nobody who they are: `0.0.0.0` is for a network of your own.",
  },
  {
    name: "HUNKWISE_SANDBOX_READ",
    default: null,
    what: "Folders that commands of a fix may read beside /usr, separated by colons: tool chains like `/opt/node:/home/ci/.pyenv/versions/3.14`. The `bin` of each comes first on their PATH. No folder with secrets or sockets.",
  },
  {
    name: "HUNKWISE_SANDBOX_MEMORY_MB",
    default: "2048",
    what: "Memory of one command, its processes and files together. Half of it is room for files.",
  },
  {
    name: "DATABASE_URL",
    default: null,
    what: "Postgres database for queue and records, `postgres://user:password@host:5432/database`. Unset: a file in the data folder.",
  },
  { name: "HTTPS_PROXY", default: null, what: "Proxy for GitHub's API, git and the model." },
  { name: "HTTP_PROXY", default: null, what: "Proxy for addresses without TLS." },
  { name: "NO_PROXY", default: null, what: "Hosts that are reached without the proxy, separated by commas." },
  {
    name: "NODE_EXTRA_CA_CERTS",
    default: null,
    what: "PEM file of further certificate authorities to trust.",
  },
];
