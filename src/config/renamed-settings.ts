// Former names of settings, each with the name that replaced it.

/** Former path → current path. A start that finds a former name stops and prints the current one. */
export const RENAMED_SETTINGS: Readonly<Record<string, string>> = {
  "limits.seats": "limits.max_running",
  "limits.seats_per_route": "limits.max_running_per_route",
  "limits.waiting_submissions": "limits.max_pending_submissions",
  "limits.no_wait_s": "limits.default_max_wait_s",
  "limits.collect_s": "limits.result_download_timeout_s",
  "limits.link_s": "limits.file_link_ttl_s",
  "limits.keep_files_s": "limits.file_retention_s",
  "limits.live_actors": "limits.max_live_actors",
  "server.leave_s": "server.drain_notice_s",
  "store.connections": "store.read_connections",
  "credits.low_usd": "credits.low_balance_alert_usd",
};
