{{- define "genrouter.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "genrouter.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "genrouter.labels" -}}
{{ include "genrouter.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "genrouter.image" -}}
{{- $repository := required "image.repository: name the image that you built from deploy/Containerfile" .Values.image.repository }}
{{- if .Values.image.digest }}{{ printf "%s@%s" $repository .Values.image.digest }}{{ else }}{{ printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) }}{{ end }}
{{- end }}

{{/* Rejects combinations of values that do not work, before anything is installed. */}}
{{- define "genrouter.check" -}}
{{- $files := .Values.settings.files | default dict }}
{{- $s3 := .Values.settings.s3 | default dict }}
{{- if gt (int .Values.replicas) 1 }}
{{- if ne ($files.store | default "") "s3" }}{{ fail "replicas: several nodes share their results: set settings.files.store to s3, settings.s3.bucket, and GENROUTER_STORE__URL in the secret" }}{{ end }}
{{- if not $s3.bucket }}{{ fail "settings.s3.bucket: name the bucket that the nodes share" }}{{ end }}
{{- end }}
{{- range $section, $members := .Values.settings }}
{{- range $name, $value := $members }}
{{- if has (printf "%s.%s" $section $name) (list "operator.token" "store.url" "s3.secret_key" "stripe.secret_key" "stripe.webhook_secret" "mail.password") }}{{ fail (printf "settings.%s.%s is a credential: put GENROUTER_%s__%s into the secret that existingSecret names" $section $name (upper $section) (upper $name)) }}{{ end }}
{{- if has (printf "%s.%s" $section $name) (list "server.host" "server.port" "data.dir") }}{{ fail (printf "settings.%s.%s is set by the chart" $section $name) }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
