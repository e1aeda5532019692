{{- define "relucent.selector" -}}
app.kubernetes.io/name: relucent
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "relucent.labels" -}}
{{ include "relucent.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "relucent.name" -}}
{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- end }}
