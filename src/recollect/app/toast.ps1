[Console]::InputEncoding = [Text.Encoding]::UTF8
$said = [Console]::In.ReadToEnd()
$kind = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$page = $kind::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02)
$lines = $page.GetElementsByTagName('text')
$lines.Item(0).AppendChild($page.CreateTextNode('Recollect')) | Out-Null
$lines.Item(1).AppendChild($page.CreateTextNode($said)) | Out-Null
$program = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\WindowsPowerShell\v1.0\powershell.exe'
$kind::CreateToastNotifier($program).Show([Windows.UI.Notifications.ToastNotification]::new($page))
