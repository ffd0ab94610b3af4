use super::*;

const NVME: &str = "\
Smart Log for NVME device:nvme0n1 namespace-id:ffffffff
critical_warning\t\t\t: 0x4
percentage_used\t\t\t\t: 250%
Data Units Written\t\t\t: 1,400,550,163 (717.08 TB)
";

const SMARTCTL_NVME: &str = "\
Total NVM Capacity:                 250,000,000,000 [250 GB]
Percentage Used:                    250%
Data Units Written:                 1,400,550,163 [717 TB]
";

const SATA: &str = "\
User Capacity:    120,000,000,000 bytes [120 GB]
ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE
177 Wear_Leveling_Count     0x0013   001   001   000    Pre-fail  Always       -       3335
241 Total_LBAs_Written      0x0032   099   099   000    Old_age   Always       -       739353756925
";

fn rounded(n: f64) -> f64 {
    (n * 10.0).round() / 10.0
}

#[test]
fn an_nvme_drive_of_the_published_tests() {
    for wear in [
        read(NVME, Some(250_000_000_000)).unwrap(),
        read(SMARTCTL_NVME, None).unwrap(),
        read(
            r#"{"nvme_total_capacity": 250000000000, "nvme_smart_health_information_log":
               {"percentage_used": 250, "data_units_written": 1400550163}}"#,
            None,
        )
        .unwrap(),
    ] {
        assert_eq!((rounded(wear.tb_written), rounded(wear.tib_written)), (717.1, 652.2));
        assert_eq!(wear.full_device_writes.unwrap().round(), 2868.0);
        assert_eq!(wear.percentage_used, Some(250.0));
        let life = wear.life("test", 1e6);
        assert_eq!(life.years_left, Some(0.0), "it is past what it is rated for");
        let text = wear.text("drive", &[life]);
        for part in ["717.1 TB", "652.2 TiB", "2,868 full-device writes", "percentage used 250"] {
            assert!(text.contains(part), "{text}");
        }
    }
}

#[test]
fn a_sata_drive_of_the_published_tests() {
    let json = r#"{"user_capacity": {"bytes": 120000000000}, "ata_smart_attributes": {"table": [
        {"name": "Wear_Leveling_Count", "raw": {"value": 3335}},
        {"name": "Total_LBAs_Written", "raw": {"value": 739353756925}}]}}"#;
    for wear in [read(SATA, None).unwrap(), read(json, None).unwrap()] {
        assert_eq!((rounded(wear.tb_written), rounded(wear.tib_written)), (378.5, 344.3));
        assert_eq!(wear.full_device_writes.unwrap().round(), 3155.0);
        assert_eq!(wear.wear_leveling_count, Some(3335));
    }
}

#[test]
fn life_follows_from_the_share_that_is_gone() {
    let half = read("Data Units Written: 1,000,000\nPercentage Used: 50%\n", None).unwrap();
    // 0.512 TB are left, which a megabyte per second takes six days for.
    let years = half.life("x", 1e6).years_left.unwrap();
    assert!((years * 365.25 - 5.926).abs() < 0.01, "{years}");
}

#[test]
fn odd_input_is_an_error() {
    for text in [
        "",
        "{}",
        "[]",
        "hello",
        "Data Units Written: many",
        "Data Units Written: 18446744073709551615",
    ] {
        assert_eq!(read(text, None).unwrap_err().kind(), ErrorKind::InvalidInput, "{text}");
    }
}
