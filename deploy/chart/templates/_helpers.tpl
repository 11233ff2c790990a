{{- define "eniwhere.labels" -}}
app.kubernetes.io/name: eniwhere
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "eniwhere.selector" -}}
app.kubernetes.io/name: eniwhere
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "eniwhere.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* Of `env`, what concerns the agent; all else is the controller's. */}}
{{- define "eniwhere.agentVariables" -}}
AWS_VPC_K8S_CNI_LOGLEVEL CLUSTER_ENDPOINT DISABLE_INTROSPECTION DISABLE_METRICS DISABLE_POD_V6 ENABLE_BANDWIDTH_PLUGIN ENIWHERE_ADD_WAIT_SECONDS ENIWHERE_AWS_CNI_VETHPREFIX ENIWHERE_CHAINED_PLUGINS ENIWHERE_METRICS_BIND_ADDRESS ENIWHERE_TUNING_SYSCTLS INTROSPECTION_BIND_ADDRESS
{{- end }}

{{- /* What both programs take. */}}
{{- define "eniwhere.sharedVariables" -}}
AWS_VPC_K8S_CNI_LOGLEVEL CLUSTER_ENDPOINT
{{- end }}

{{- define "eniwhere.commonEnv" -}}
- name: MY_NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
- name: MY_POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: MY_POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end }}

{{- define "eniwhere.controllerEnv" -}}
{{- $agents := splitList " " (include "eniwhere.agentVariables" .) }}
{{- $shared := splitList " " (include "eniwhere.sharedVariables" .) }}
- name: CLUSTER_NAME
  value: {{ required "clusterName is required: it is the tag of every ENI that is made for this cluster" .Values.clusterName | quote }}
{{- with .Values.region }}
- name: AWS_REGION
  value: {{ . | quote }}
{{- end }}
{{- range $name, $value := .Values.env }}
{{- if or (not (has $name $agents)) (has $name $shared) }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "eniwhere.agentEnv" -}}
{{- $agents := splitList " " (include "eniwhere.agentVariables" .) }}
{{- range $name, $value := .Values.env }}
{{- if has $name $agents }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}
