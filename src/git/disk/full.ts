import { AppError } from "../../errors.ts";

export const DISK_FULL_REMEDY =
  "Make room on the disk of the data folder, or set HUNKWISE_DISK_LIMIT_GB so that less of it is used";

/** The AppError for what the system says of the data folder, whose disk is full or which cannot be used; else the error. */
export function diskError(dataFolder: string, cause: unknown): unknown {
  const { code, syscall } = cause as NodeJS.ErrnoException;
  if (syscall === undefined) return cause;
  if (code === "ENOSPC" || code === "EDQUOT")
    return new AppError("disk_full", "The disk of the data folder is full", {
      retryable: true,
      remedy: DISK_FULL_REMEDY,
      cause,
    });
  return new AppError("data_folder_unusable", `The data folder '${dataFolder}' cannot be used`, {
    remedy: "Check that it exists and may be written to",
    cause,
  });
}

export const isDiskFull = (error: unknown) => error instanceof AppError && error.code === "disk_full";
