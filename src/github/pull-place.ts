import { AppError } from "../errors.ts";

/** A pull request and the GitHub that has it. */
export interface PullPlace {
  /** With a port if it is not the usual one. */
  host: string;
  /** `http` only for this machine, which nobody else can listen to. */
  protocol: "https" | "http";
  owner: string;
  name: string;
  number: number;
}

const part = "[\\w.-]{1,100}";
const page = new RegExp(
  `^(https|http(?=://(?:127\\.0\\.0\\.1|localhost):))://([\\w.-]+(?::\\d+)?)/(${part})/(${part})/pull/([1-9]\\d{0,8})(?:[/?#].*)?$`,
);
/** `https://HOST/OWNER/NAME.git`, `ssh://git@HOST/OWNER/NAME`, `git@HOST:OWNER/NAME.git`. The port of SSH is not that of the API. */
const remotes = [
  new RegExp(`^https://(?:[^@/]*@)?([\\w.-]+(?::\\d+)?)/(${part})/(${part}?)(?:\\.git)?/?$`),
  new RegExp(`^ssh://(?:[^@/]*@)?([\\w.-]+)(?::\\d+)?/(${part})/(${part}?)(?:\\.git)?/?$`),
  new RegExp(`^[\\w.-]+@([\\w.-]+):(${part})/(${part}?)(?:\\.git)?/?$`),
];

/**
 * The pull request that a person names: the address of its page, or a number in the repository that the remote leads to. Throws
 * `usage`.
 *
 * @param remote address of the remote "origin"; null if there is none
 */
export function pullPlace(named: string, remote: string | null): PullPlace {
  const [, protocol, host, owner, name, number] = page.exec(named) ?? [];
  if (host !== undefined && owner !== undefined && name !== undefined)
    return {
      host: host.toLowerCase(),
      protocol: protocol === "http" ? "http" : "https",
      owner,
      name,
      number: Number(number),
    };
  if (!/^#?[1-9]\d{0,8}$/.test(named)) {
    throw new AppError("usage", `'${named}' is not a pull request`, {
      remedy: "Name its number, or the address of its page: https://HOST/OWNER/REPOSITORY/pull/NUMBER",
    });
  }
  for (const pattern of remotes) {
    const [, at, of, called] = pattern.exec(remote ?? "") ?? [];
    if (at && of && called)
      return {
        host: at.toLowerCase(),
        protocol: "https",
        owner: of,
        name: called,
        number: Number(named.replace("#", "")),
      };
  }
  throw new AppError("usage", `The remote origin does not say where pull request ${named} is`, {
    remedy: "Name the address of its page: https://HOST/OWNER/REPOSITORY/pull/NUMBER",
  });
}
