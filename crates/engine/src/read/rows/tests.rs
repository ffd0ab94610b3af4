use super::*;
use onlap_format::{BytesVec, Physical};

#[test]
fn taking_rows_keeps_values_and_nulls_of_every_form() {
    let forms = [Physical::Int, Physical::Wide, Physical::Numeric, Physical::Bytes];
    let mut from = Batch::new(forms);
    for i in 0..10u8 {
        for column in &mut from.columns {
            if i % 4 == 3 {
                column.push_null();
                continue;
            }
            match &mut column.data {
                Vector::Int(v) => v.push(i.into()),
                Vector::Wide(v) => v.push(i128::from(i) << 100),
                Vector::Numeric(m, s) => {
                    m.push(i.into());
                    s.push(i);
                }
                Vector::Bytes(v) => v.push(&[i]),
            }
            column.pushed();
        }
        from.rows += 1;
    }
    let mut out = Batch::new(forms);
    take(&from, &[9, 0], &mut out);
    assert!(out.columns.iter().all(|c| c.nulls.as_ref().is_some_and(|n| n.count() == 0)));
    take(&from, &[3, 3, 1], &mut out);
    assert_eq!(out.rows, 5);
    let nulls: Vec<bool> = (0..5).map(|i| out.columns[2].is_null(i)).collect();
    assert_eq!(nulls, [false, false, true, true, false]);
    assert_eq!(out.columns[0].data, Vector::Int(vec![9, 0, 0, 0, 1]));
    assert_eq!(out.columns[2].data, Vector::Numeric(vec![9, 0, 0, 0, 1], vec![9, 0, 0, 0, 1]));
    let mut strings = BytesVec::default();
    [&[9u8][..], &[0], &[], &[], &[1]].into_iter().for_each(|s| strings.push(s));
    assert_eq!(out.columns[3].data, Vector::Bytes(strings));
}

#[test]
fn clearing_keeps_memory_of_the_same_shape_only() {
    let mut batch = Batch::new([Physical::Int]);
    batch.columns[0].push_null();
    batch.rows = 1;
    clear(&mut batch, &[DataType::Int4]);
    assert_eq!(batch, Batch::new([Physical::Int]));
    clear(&mut batch, &[DataType::Text, DataType::Int4]);
    assert_eq!(batch, Batch::new([Physical::Bytes, Physical::Int]));
}
